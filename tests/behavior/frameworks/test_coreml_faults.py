"""Faults planted in ML programs: each is found at its node, with its cause, and repaired."""

import re

import numpy as np
import pytest

import isomorph
from coreml_building import (
    INPUTS,
    OUTPUTS,
    Block,
    Weights,
    network,
    onnx_network,
    package,
    specification,
    value,
)
from isomorph.core.divergence import Verdict

X = {"x": np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)}
COMPRESSED = ("w", "k")


class Faulty(Block):
    """A block that changes what it is asked to store or to compute."""

    def __init__(self, constants=None, operators=None):
        super().__init__()
        self.constants, self.operators = constants or {}, operators or {}

    def const(self, name, array, stored=None):
        changed = self.constants.get(name)
        return super().const(name, array if changed is None else changed(array), stored)

    def op(self, kind, output, *rest, **more):
        name = output if isinstance(output, str) else output[0][0]
        return super().op(self.operators.get(name, kind), output, *rest, **more)


def plain(block, name, array):
    return block.const(name, array)


def linear_8(block, name, array, *, scale=lambda each: each):
    """Weights in 8 bits with a scale for each row."""
    if name not in COMPRESSED:
        return block.const(name, array)
    rows = array.reshape(len(array), -1)
    step = (np.abs(rows).max(1) / 127).astype(np.float32)
    whole = np.rint(rows / step[:, None]).astype(np.int8).reshape(array.shape)
    stated = {
        "quantized_data": whole, "scale": scale(step) if name == "k" else step,
        "zero_point": np.int8(0), "axis": np.int32(0),
    }  # fmt: skip
    attributes = {key: value(each) for key, each in stated.items()}
    kind = "constexpr_affine_dequantize"
    return block.op(kind, name, "float32", array.shape, attributes=attributes)


def palette_8(block, name, array, *, lut=lambda each: each):
    """Weights as indices into 256 numbers, or as many as there are."""
    if name not in COMPRESSED:
        return block.const(name, array)
    low, high = array.min(), array.max()
    table = np.linspace(low, high, 256).astype(np.float32)
    indices = np.abs(array.reshape(-1, 1) - table).argmin(1).astype(np.uint8)
    stated = {
        "indices": indices, "lut": lut(table) if name == "k" else table,
        "shape": np.asarray(array.shape, np.uint32),
    }  # fmt: skip
    attributes = {key: value(each) for key, each in stated.items()}
    return block.op("constexpr_lut_to_dense", name, "float32", array.shape, attributes=attributes)


def written(folder, held=plain, dtype="float32", **faults):
    block = network(held=held, dtype=dtype, block=Faulty(**faults))
    inputs = [(name, dtype, shape) for name, _, shape in INPUTS]
    path = folder / "model.mlmodel"
    path.write_bytes(specification(block, inputs, OUTPUTS))
    return str(path)


def checked(folder, path):
    return isomorph.check(
        onnx_network(folder), path, inputs=X, in_process=True, translation_only=True
    )


def one_more(place, by):
    def change(array):
        changed = np.array(array)
        changed.reshape(-1)[place] += by
        return changed

    return change


FAULTS = {
    "another epsilon": ({"constants": {"epsilon": lambda _: np.float32(0.1)}}, "op_n", "attribute"),
    "another padding": (
        {"constants": {"pad": lambda _: np.asarray([0, 2, 1, 1], np.int32)}}, "op_c", "attribute",
    ),
    "a wrong weight": ({"constants": {"k": one_more(7, 0.5)}}, "op_logits", "weight"),
    "a wrong bias": ({"constants": {"b": one_more(2, 0.5)}}, "op_c", "weight"),
    "a transposed kernel": (
        {"constants": {"w": lambda w: np.ascontiguousarray(w.swapaxes(2, 3))}},
        "op_c", "weight|layout",
    ),
    "another operator": ({"operators": {"p": "add"}}, "op_p", "missing_op"),
    "a scale three times too large": (
        {"held": lambda *given: linear_8(*given, scale=lambda s: s * np.float32([1, 1, 3, 1, 1]))},
        "op_logits", "quantization",
    ),
    "a palette in another order": (
        {"held": lambda *given: palette_8(*given, lut=lambda t: t[::-1].copy())},
        "op_logits", "weight|quantization",
    ),
}  # fmt: skip
REPAIRED = ("another epsilon", "another padding", "a wrong weight", "a wrong bias")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_at_its_node_with_its_cause(tmp_path, fault):
    stated, node, cause = FAULTS[fault]
    report = checked(tmp_path, written(tmp_path, **stated))
    assert report.verdict is Verdict.DIVERGENT, report.reason
    found = [each for each in report.findings if each.node is not None]
    assert found, report.reason
    assert found[0].node == node
    assert re.fullmatch(cause, found[0].cause or "")


@pytest.mark.parametrize("fault", REPAIRED)
def test_a_value_of_the_file_is_repaired(tmp_path, fault):
    path = written(tmp_path, **FAULTS[fault][0])
    target = tmp_path / "repaired.mlmodel"
    done = isomorph.fix(
        onnx_network(tmp_path), path, output=target, inputs=X, in_process=True,
        translation_only=True,
    )  # fmt: skip
    assert done.repaired, done.reason
    assert checked(tmp_path, str(target)).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        ({}, Verdict.EQUIVALENT),
        ({"dtype": "float16"}, Verdict.DEGRADED),
        ({"held": linear_8}, Verdict.DEGRADED),
        ({"held": palette_8}, Verdict.DEGRADED),
    ],
    ids=["float32", "float16", "8 bits", "palettes"],
)
def test_a_right_program_is_no_fault(tmp_path, stated, verdict):
    report = checked(tmp_path, written(tmp_path, **stated))
    assert report.verdict is verdict, report.reason
    assert not [each.code for each in report.findings if each.node is not None]


def test_a_wrong_number_in_a_weight_file_is_found_and_repaired_there(tmp_path):
    weights = Weights()

    def held(block, name, array):
        changed = one_more(7, 0.5)(array) if name == "k" else array
        return block.const(name, changed, weights.add(changed))

    data = specification(network(held=held), INPUTS, OUTPUTS)
    path, target = package(tmp_path / "m.mlpackage", data, weights), tmp_path / "r.mlpackage"
    report = checked(tmp_path, str(path))
    assert (report.verdict, report.findings[0].node) == (Verdict.DIVERGENT, "op_logits")
    done = isomorph.fix(
        onnx_network(tmp_path), path, output=target, inputs=X, in_process=True,
        translation_only=True,
    )  # fmt: skip
    assert done.repaired, done.reason
    assert checked(tmp_path, str(target)).verdict is Verdict.EQUIVALENT
