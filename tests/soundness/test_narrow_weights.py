"""Half of the numbers of a narrow weight are off by two units: the outputs hide it."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import isomorph
from unreached import F32, model, node

WEIGHT = (np.random.default_rng(5).normal(size=(24, 16)) / 5).astype(np.float32)
GIVEN = {"x": np.random.default_rng(6).normal(size=(4, 24)).astype(np.float32)}
READS, GIVES = {"x": (F32, (4, 24))}, {"y": (F32, (4, 16))}
HALF = np.random.default_rng(7).random(WEIGHT.shape) < 0.5
STEP = np.float32(np.abs(WEIGHT).max() / 120)


def plain():
    return model([node("MatMul", "x w", "y")], READS, GIVES, {"w": WEIGHT})


def cast(kind, units):
    """The weight in a narrow float type, which is widened before it is used."""
    stored = WEIGHT.astype(kind)
    moved = (stored.view(np.int16) + units).view(kind)
    values = np.where(HALF, moved, stored)
    code = TensorProto.BFLOAT16 if kind is ml_dtypes.bfloat16 else TensorProto.FLOAT16
    tensor = helper.make_tensor("w", code, values.shape, values.tobytes(), raw=True)
    nodes = [node("Cast", "w", "v", to=TensorProto.FLOAT), node("MatMul", "x v", "y")]
    return model(nodes, READS, GIVES, {"w": tensor})


def quantized(units):
    """The weight in eight bits."""
    stored = np.rint(WEIGHT / STEP).astype(np.int8)
    nodes = [node("DequantizeLinear", "w s", "v"), node("MatMul", "x v", "y")]
    values = np.where(HALF, stored + np.int8(units), stored).astype(np.int8)
    return model(nodes, READS, GIVES, {"w": values, "s": STEP})


MAKERS = {
    "float16": lambda units: cast(np.float16, units),
    "bfloat16": lambda units: cast(ml_dtypes.bfloat16, units),
    "int8": quantized,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("narrow", [False, True], ids=["from float32", "from the same type"])
def test_two_units_in_half_of_the_numbers_are_found(kind, narrow):
    make = MAKERS[kind]
    reference = make(0) if narrow else plain()
    report = isomorph.check(reference, make(2), inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    report = isomorph.check(reference, make(0), inputs=GIVEN, in_process=True)
    assert report.verdict in {isomorph.Verdict.EQUIVALENT, isomorph.Verdict.DEGRADED}


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_every_size_are_another_rounding(seed):
    """A rounding that was learned moves all numbers, some by more than a step."""
    random = np.random.default_rng(seed)
    learned = np.rint(WEIGHT / STEP + random.normal(scale=0.5, size=WEIGHT.shape)).astype(np.int8)
    nodes = [node("DequantizeLinear", "w s", "v"), node("MatMul", "x v", "y")]
    candidate = model(nodes, READS, GIVES, {"w": learned, "s": STEP})
    report = isomorph.check(plain(), candidate, inputs=GIVEN, in_process=True)
    assert not [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]
