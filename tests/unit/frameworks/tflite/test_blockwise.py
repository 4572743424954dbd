"""TFLite weights with one scale for each block: read, described, evaluated, refused."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.describe import describe
from isomorph.frameworks.tflite.evaluator import Evaluator
from isomorph.frameworks.tflite.parse import parse
from tflite_building import Building

RANDOM = np.random.default_rng(0)
FIELDS = RANDOM.integers(-7, 8, (4, 64))
SCALES = np.exp(RANDOM.normal(size=(4, 2))).astype(np.float16)
X = RANDOM.normal(size=(3, 64)).astype(np.float32)


def product(**changes):
    """One product with a weight of four bits in blocks of 32."""
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (3, 64)), graph.tensor("y", (3, 4))
    packed = (FIELDS[:, ::2] & 15) | ((FIELDS[:, 1::2] & 15) << 4)
    w = graph.tensor("w", (4, 64), "int4", raw=packed.astype(np.uint8).tobytes())
    kind = changes.pop("kind", "float16")
    s = graph.tensor("scales", (4, 2), kind, value=changes.pop("scales", SCALES))
    details = schema.BlockwiseQuantizationT()
    details.scales, details.zeroPoints, details.blockSize = changes.pop("place", s), -1, 32
    for name, value in changes.items():
        setattr(details, name, value)
    given = schema.QuantizationParametersT()
    given.details, given.quantizedDimension = details, 0
    given.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    graph.made.tensors[w].quantization = given
    graph.op("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnected")
    graph.ends([x], [y])
    return parse(model.data(), file="m.tflite")


def test_it_stands_for_the_numbers_of_its_blocks():
    found = Evaluator(product()).run({"x": X}, ["y"])["y"]
    real = FIELDS * np.repeat(SCALES.astype(np.float64), 32, axis=1)
    np.testing.assert_allclose(found, X.astype(np.float64) @ real.T, rtol=1e-12)


def test_it_is_described_by_its_blocks_and_the_constant_of_their_scales():
    (found,) = describe(product()).quantization
    assert (found.tensor, found.block, found.axis, found.scales) == ("w", 32, 1, "scales")
    assert not found.scale


def test_real_numbers_take_its_place_as_they_are():
    real = RANDOM.normal(size=(4, 64))
    found = Evaluator(product()).run({"x": X, "w": real}, ["y"])["y"]
    np.testing.assert_allclose(found, X.astype(np.float64) @ real.T, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"zeroPoints": 1}, "zero points"),
        ({"place": 99}, "no tensor"),
        ({"blockSize": 0}, "empty"),
        ({"kind": "int32"}, "int32"),
        ({"blockShape": [1, 32]}, "several axes"),
    ],
)
def test_other_blocks_are_refused_with_the_reason(change, why):
    with pytest.raises(UnreadableModelError) as caught:
        product(**change)
    assert caught.value.code == "UNSUPPORTED_QUANTIZATION"
    assert why in str(caught.value.why)


def test_too_few_scales_are_a_damaged_file():
    with pytest.raises(UnreadableModelError) as caught:
        product(scales=SCALES[:2])
    assert caught.value.code == "MODEL_TRUNCATED"
