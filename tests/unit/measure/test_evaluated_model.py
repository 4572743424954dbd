"""What a constant that was rounded again may excuse, and what it may not."""

import types

import numpy as np

from isomorph.core.trace import Capabilities
from isomorph.measure.evaluated_model import EvaluatedModel


class Cube:
    """x³ whose exponent may be disturbed: near to three, it makes NaN of negative numbers."""

    capabilities = Capabilities(fetch="all", feed="all", noise=True)

    def run(self, feeds, fetch, *, noise=None):
        rough = 0.0 if noise is None else 1e-9 * (noise.seed % 7 + 1)
        with np.errstate(invalid="ignore"):
            cube = feeds["x"] ** (3.0 + rough if noise and noise.constants else 3.0)
        return {"y": cube * (1.0 + rough)}


def test_an_exponent_that_is_rounded_again_excuses_no_nan():
    spec = types.SimpleNamespace(name="y")
    graph = types.SimpleNamespace(
        inputs=[], outputs=[spec], nodes=[], constants={}, tensors={}, quantization={}, framework=""
    )
    oracle = Cube()
    subject = EvaluatedModel(
        role="reference", model=types.SimpleNamespace(graph=graph),
        feeds={"x": np.array([-2.0, -1.0, 1.0, 2.0])}, runtime=lambda: oracle,
        plain=lambda: oracle, oracle=lambda: oracle, seed=1,
    )  # fmt: skip
    found = subject.allowance(("e",))["y"]
    assert not found.unsettled.any(), "a NaN of the candidate would be excused here"
    assert (found.deviation[2:] > 0).all(), "the noise was not heard"
