"""What a constant that was rounded again may excuse, and what it may not."""

import types

import numpy as np

from isomorph.core.divergence import Budget, Divergence, ErrorTerm, Verdict
from isomorph.core.trace import Capabilities
from isomorph.measure.distance import distance
from isomorph.measure.draws_needed import allowance_settled
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


class Counting:
    """Two numbers, each draw of which is counted by what it disturbs."""

    capabilities = Capabilities(fetch="all", feed="all", noise=True)

    def __init__(self):
        self.drawn = []

    def run(self, feeds, fetch, *, noise=None):
        if noise is not None:
            self.drawn.append("rounding" if noise.rounding else "constants")
        step = 0.0 if noise is None else 1e-9 * (noise.seed % 7 - 3)
        return {"y": np.array([1.0, 2.0]) + step}


def counted():
    spec = types.SimpleNamespace(name="y")
    graph = types.SimpleNamespace(
        inputs=[], outputs=[spec], nodes=[], constants={}, tensors={}, quantization={}, framework=""
    )
    oracle = Counting()
    return oracle, EvaluatedModel(
        role="reference", model=types.SimpleNamespace(graph=graph), feeds={},
        runtime=lambda: oracle, plain=lambda: oracle, oracle=lambda: oracle, seed=1,
    )  # fmt: skip


def test_constants_are_not_disturbed_again_for_a_doubt_about_rounding():
    oracle, subject = counted()
    subject.rounding()
    subject.allowance(("w",))
    assert oracle.drawn == 3 * ["rounding"] + 3 * ["constants"]
    assert subject.draw_more(5, allowance=False)
    assert subject.rounding()["y"].draws == 5
    assert subject.allowance(("w",))["y"].draws == 3
    assert oracle.drawn[6:] == 2 * ["rounding"]


def test_an_allowance_that_is_in_doubt_later_catches_up():
    oracle, subject = counted()
    subject.allowance(("w",))
    assert subject.draw_more(10, allowance=False)
    assert subject.draw_more(10)
    assert not subject.draw_more(10)
    assert subject.allowance(("w",))["y"].draws == 10
    assert oracle.drawn == 10 * ["constants"]


def term(ratio, draws=3, freedom=14.0, elements=1000):
    numbers = np.zeros(elements)
    budget = Budget(derivation="", ratio=ratio, draws=draws, freedom=freedom)
    return ErrorTerm(distance=distance(numbers, numbers, dtype="float32"), budget=budget)


def judged(verdict, translation):
    return Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(1000,),
        verdict=verdict, reason="", translation=translation, rounding=term(5.0),
    )  # fmt: skip


def test_the_allowance_is_settled_by_itself():
    """The rounding is in doubt in each of these: five times its budget after three draws."""

    def settled(verdict, ratio, *, smooth=True):
        return allowance_settled(judged(verdict, term(ratio)), 1e-6, smooth=smooth)

    assert settled(Verdict.DIVERGENT, 1e4)
    assert settled(Verdict.DIVERGENT, 1e-3)
    assert not settled(Verdict.DIVERGENT, 5.0)
    assert not settled(Verdict.DIVERGENT, 1e4, smooth=False), "few draws may not have jumped"
    assert not settled(Verdict.EQUIVALENT, 1e4), "it is reported, and the report is to be certain"
    assert settled(Verdict.EQUIVALENT, 1e-3)
    assert allowance_settled(judged(Verdict.UNKNOWN, None), 1e-6, smooth=True)
