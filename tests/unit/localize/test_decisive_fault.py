"""A faulty node alone is a proof only where nothing but a fault explains it."""

from dataclasses import replace

import numpy as np
import pytest

from chains import Session, graph, node
from faulty_graphs import OUTPUTS, X, chain, matched
from isomorph.core.model import Constant
from isomorph.core.trace import Noise
from isomorph.localize.decisive_fault import is_decisive
from isomorph.localize.fault_chain import find_faults
from isomorph.localize.locate import Located
from isomorph.match.tensor_capture import TensorCapture
from isomorph.match.value_match import ValueMatcher


def located(matcher):
    return Located(chain=find_faults(matcher, OUTPUTS), matcher=matcher)


def test_a_wrong_operator_is_a_proof():
    assert is_decisive(located(matched(chain("l"), chain("r", c="Mul"))))


def test_several_faults_and_none_are_no_proof():
    assert not is_decisive(located(matched(chain("l"), chain("r", b="Add", d="Cos"))))
    assert not is_decisive(located(matched(chain("l"), chain("r"))))


def test_a_fault_that_leaves_an_output_wrong_is_no_proof():
    found = located(matched(chain("l"), chain("r", c="Mul")))
    assert not is_decisive(replace(found, chain=replace(found.chain, explained=False)))


class Scaling(Session):
    """A session whose one constant is disturbed by ``step`` of it, if at all."""

    def __init__(self, made, scale, step):
        super().__init__(made, {"scale": np.full((4, 6), scale)})
        self.step = step

    def run(self, feeds, fetch, *, noise=None):
        if noise is not None and "scale" in noise.constants:
            draw = np.random.default_rng(noise.seed).normal(size=(4, 6))
            feeds = {**feeds, "scale": self.stored["scale"] * (1.0 + self.step * draw)}
        return super().run(feeds, fetch, noise=noise)


def scaled(prefix, scale, step):
    stored = Constant(
        name="scale", dtype="float32", shape=(4, 6), digest=prefix, value_digest=prefix
    )
    p = prefix
    made = graph(
        [
            node("Sin", ["x"], f"{p}a"),
            node("Mul", [f"{p}a", "scale"], f"{p}b"),
            node("Sin", [f"{p}b"], f"{p}out"),
        ],
        outputs=[f"{p}out"],
        constants=[stored],
    )
    rounding = Noise(seed=0, rounding=True)
    capture = TensorCapture(made, Scaling(made, scale, step), {"x": X}, rounding)
    capture.compute()
    return capture


@pytest.mark.parametrize(("step", "proof"), [(2.0**-24, True), (1e-3, False)])
def test_what_constants_rounded_again_may_explain_is_no_proof(step, proof):
    matcher = ValueMatcher(scaled("l", 1.0, step), scaled("r", 1.001, step))
    found = located(matcher)
    assert [each.node for each in found.chain.faults] == ["make_rb"]
    assert is_decisive(found) is proof
