"""Inputs that a search tries: bounded in number, valid, and no larger than allowed."""

import base64
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.coverage import InputKind
from isomorph.core.limits import REPORTED_INPUT_BYTES, TRIED_WEIGHTS, noted_limits
from isomorph.core.model import Constant, Graph, TensorSpec
from isomorph.core.stated_numbers import FEWEST_TRIALS, INPUT_SCALES
from isomorph.localize.input_domain import larger
from isomorph.localize.input_search import Trial, _scaled, encoded, other_inputs, scales_to, trials

X = np.array([[0.5, -2.0, 1.0]], np.float32)


def graph(*specs, weights=0):
    constants = {}
    if weights:
        constants["w"] = Constant(
            name="w", dtype="float32", shape=(weights,), digest="", value_digest=""
        )
    return Graph(name="g", inputs=specs, outputs=(), nodes=(), tensors={}, constants=constants)


def spec(name, dtype="float32", shape=(1, 3)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


FLOATS = graph(spec("x"))


def model(made=FLOATS, feeds=None):
    return SimpleNamespace(
        model=SimpleNamespace(graph=made), feeds=feeds or {"x": X}, seed=0, oracle=None
    )


def tried(reference, budgets=None, **options):
    return list(other_inputs(reference, SimpleNamespace(budgets=budgets or {}), **options))


def test_the_given_inputs_are_scaled_and_negated_and_generated_ones_follow():
    found = {each.recipe: each for each in trials(FLOATS, {"x": X}, seed=0)}
    for scale in INPUT_SCALES:
        minus = found[f"the given inputs times {-scale:g}"]
        assert np.array_equal(minus.feeds["x"], -scale * X)
        assert minus.kind is InputKind.GIVEN
    assert "the given inputs times 1" not in found
    made = [each for each in found.values() if each.kind is InputKind.GENERATED]
    assert len(made) == 2 * len(INPUT_SCALES)
    assert {each.feeds["x"].shape for each in made} == {X.shape}


def test_integers_and_masks_are_not_scaled():
    given = {"x": X, "ids": np.array([[1, 2, 3]])}
    made = graph(spec("x"), spec("ids", "int64"))
    for each in trials(made, given, seed=0):
        if each.kind is InputKind.GIVEN:
            assert np.array_equal(each.feeds["ids"], given["ids"])


def test_generated_integers_are_others_for_each_factor():
    """Integers are not scaled: with the same ones, the same rows of a table are selected again."""
    ids = {"ids": np.array([[1, 2, 3]])}
    for made, given in (
        (graph(spec("ids", "int64")), ids),
        (graph(spec("x"), spec("ids", "int64")), {"x": X, **ids}),
    ):
        drawn = [
            each.feeds["ids"].tobytes()
            for each in trials(made, given, seed=0)
            if each.kind is InputKind.GENERATED
        ]
        assert len(drawn) == len(set(drawn)) == 2 * len(INPUT_SCALES)


def test_inputs_without_real_numbers_are_not_tried_again():
    ids = {"ids": np.array([[1, 2, 3]])}
    found = list(trials(graph(spec("ids", "int64")), ids, seed=0))
    assert {each.kind for each in found} == {InputKind.GENERATED}
    assert not any("times" in each.recipe for each in found)


def test_no_input_is_tried_twice_by_its_recipe():
    recipes = [each.recipe for each in tried(model())]
    assert len(recipes) == len(set(recipes))
    assert "the given inputs times 0" in recipes
    halves = next(each for each in tried(model()) if "halves" in each.recipe)
    assert np.array_equal(halves.feeds["x"], [[0.5, -1.5, 1.5]])
    assert not any("halves" in each.recipe for each in tried(model(), ties=False))


def test_what_is_asked_for_first_comes_first():
    own = Trial(recipe="own", feeds={"x": X})
    assert tried(model(), first=[own])[0] is own


def test_with_a_stated_budget_nothing_is_larger_than_the_given_inputs():
    for reference in (tried(model(), budgets={"": 0.1}), tried(model(), beyond_given=False)):
        assert reference
        assert not any(larger(each.feeds, {"x": X}) for each in reference)
    assert any(larger(each.feeds, {"x": X}) for each in tried(model()))


def test_inputs_of_other_sizes_are_made_as_small_as_the_given_ones():
    free = graph(spec("x", shape=(1, "length")))
    found = tried(model(free), budgets={"": 0.1}, sizes=True)
    resized = [each for each in found if each.resized]
    assert {each.feeds["x"].shape for each in resized} - {X.shape}
    largest = [float(np.abs(each.feeds["x"]).max()) for each in resized]
    assert max(largest) == pytest.approx(2.0)
    # They are made smaller as a whole: all but the largest numbers stay within the limits.
    for each in resized:
        at_the_limit = np.count_nonzero(np.isclose(np.abs(each.feeds["x"]), 2.0))
        assert at_the_limit <= 1


def test_of_a_large_model_few_inputs_are_tried_and_that_is_noted():
    with noted_limits() as hit:
        found = tried(model(graph(spec("x"), weights=TRIED_WEIGHTS.most)))
    assert len(found) == FEWEST_TRIALS
    assert TRIED_WEIGHTS in hit
    with noted_limits() as hit:
        tried(model())
    assert TRIED_WEIGHTS not in hit


def test_larger_is_a_real_number_beyond_all_that_were_given():
    assert larger({"x": 2 * X}, {"x": X})
    assert not larger({"x": -X}, {"x": X})
    assert not larger({"n": np.array([9])}, {"n": np.array([1])})
    assert not larger({"other": 9 * X}, {"x": X})


def test_inputs_are_scaled_to_both_sides_of_each_number_and_between_them():
    session = SimpleNamespace(run=lambda feeds, names: {"t": np.array([2.0, -4.0])})
    reference = SimpleNamespace(oracle=lambda: session, feeds={})
    found = sorted(scales_to([8.0], ["t"], reference))
    assert found == pytest.approx([1.0, 4.0])
    several = sorted(scale * 4.0 for scale in scales_to([1.0, 16.0], ["t"], reference))
    bends = [1 / 16, 1.0, 16.0]
    assert several[0] < bends[0]
    for low, high in pairwise(bends):
        assert any(low < each < high for each in several)
    assert several[-1] > bends[-1]
    assert list(scales_to([], ["t"], reference)) == []
    assert list(scales_to([1.0], [], reference)) == []


def test_the_scale_of_an_input_follows_the_power_with_which_a_tensor_grows():
    session = SimpleNamespace(run=lambda feeds, names: {"t": 64.0 * feeds["x"] ** 2})
    energies = SimpleNamespace(oracle=lambda: session, feeds={"x": np.array([0.5, 1.0])})
    found = sorted(scales_to([1.0], ["t"], energies))
    assert [64.0 * each**2 for each in found] == pytest.approx([0.5, 2.0], rel=0.02)


def test_inputs_in_a_report_hold_their_bytes_or_are_left_out():
    found = encoded(Trial(recipe="", feeds={"x": X}))
    entry = found["x"]
    again = np.frombuffer(base64.b64decode(entry["base64"]), entry["dtype"]).reshape(entry["shape"])
    assert np.array_equal(again, X)
    large = np.zeros(REPORTED_INPUT_BYTES // 8 + 1)
    assert encoded(Trial(recipe="", feeds={"x": large})) is None


def test_infinite_inputs_are_scaled_without_a_warning():
    """Warnings are errors here."""
    found = _scaled({"x": np.array([np.inf, 3e38], np.float32)}, 0.0)["x"]
    assert np.isnan(found[0])
    assert found[1] == 0
