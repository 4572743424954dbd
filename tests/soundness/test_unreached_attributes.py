"""An attribute that no given input shows is found, and one without effect is not accused."""

import numpy as np
import pytest
from unreached import F32, model, node
from unreached_attributes import MAKERS, pair

import isomorph

ONLY_GIVEN = isomorph.CheckOptions(only_given=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_an_attribute_with_an_effect_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason


@pytest.mark.parametrize("maker", MAKERS)
def test_the_given_inputs_alone_show_none_of_them(maker):
    made = pair(maker, 1)
    report = isomorph.check(
        made.reference, made.candidate, inputs=made.inputs, in_process=True, options=ONLY_GIVEN
    )
    assert report.verdict in {isomorph.Verdict.EQUIVALENT, isomorph.Verdict.DEGRADED}


@pytest.mark.parametrize(("kept", "verdict"), [(1.0, "degraded"), (0.0, "divergent")])
def test_an_epsilon_that_is_part_of_the_variance_is_none_that_is_lost(kept, verdict):
    """Eight bits hide both; only the constant beside the epsilon tells them apart."""
    random = np.random.default_rng(4)
    names = ("s", "b", "m")
    weights = {name: np.abs(random.normal(size=3)).astype(np.float32) for name in names}
    variance = np.array([0.6, 0.9, 1.3], np.float32)
    reads = {"x": (F32, (2, 3, 4))}, {"y": (F32, (2, 3, 4))}
    grid = {"step": np.float32(0.03), "zero": np.uint8(128)}
    quantizers = [
        node("QuantizeLinear", "x step zero", "q"),
        node("DequantizeLinear", "q step zero", "r"),
    ]
    reference = model(
        [node("BatchNormalization", "x s b m v", "y", epsilon=1e-3)],
        *reads, {**weights, "v": variance},
    )  # fmt: skip
    candidate = model(
        [
            *quantizers,
            node("BatchNormalization", "r s b m v", "n", epsilon=0.0),
            node("QuantizeLinear", "n step zero", "p"),
            node("DequantizeLinear", "p step zero", "y"),
        ],
        *reads, {**weights, **grid, "v": variance + np.float32(1e-3 * kept)},
    )  # fmt: skip
    given = {"x": random.normal(size=(2, 3, 4)).astype(np.float32)}
    assert isomorph.check(reference, candidate, inputs=given, in_process=True).verdict == verdict
