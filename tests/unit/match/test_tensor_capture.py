import numpy as np
import pytest

from chains import Session, graph, node
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.trace import Noise
from isomorph.match.tensor_cache import LayeredTensors, TensorCache
from isomorph.match.tensor_capture import TensorCapture

X = np.random.default_rng(0).normal(size=(4, 6))
LONG = 40


def long_chain():
    """Each node reads the two before it, so that every cut has two tensors."""
    names = ["x", "x", *(f"t{place}" for place in range(LONG))]
    return graph(
        [node("Sin" if place % 3 else "Add", names[place : place + 2][: 1 if place % 3 else 2],
              names[place + 2]) for place in range(LONG)],
        outputs=[names[-1]],
    )  # fmt: skip


def capture(memory_bytes, noise=True):
    session = Session(long_chain())
    seen = TensorCapture(
        session.graph, session, {"x": X}, Noise(seed=0, rounding=True) if noise else None,
        memory_bytes=memory_bytes,
    )  # fmt: skip
    seen.compute()
    return seen, session


def test_little_memory_changes_no_number():
    whole, at_once = capture(1 << 30)
    pieces, piecewise = capture(4 * 6 * 8 * 100)
    assert at_once.most_fetched == LONG
    assert piecewise.most_fetched < LONG / 4
    assert pieces.prints == whole.prints
    assert list(pieces.values) == list(whole.values)
    for name in whole.values:
        np.testing.assert_array_equal(pieces.values[name], whole.values[name])
        assert pieces.spread[name] == pytest.approx(whole.spread[name], rel=1e-9)
        assert pieces.peak[name] == pytest.approx(whole.peak[name], rel=1e-9)


def test_the_draws_of_one_tensor_are_about_their_mean():
    seen, session = capture(1 << 30)
    draws = [
        session.run({"x": X}, ["t5"], noise=Noise(seed=n, rounding=True))["t5"] for n in range(8)
    ]
    steps = np.array(draws) - np.mean(draws, axis=0)
    drawn = seen.drawn("t5", 8)
    np.testing.assert_array_equal(drawn.center, np.mean(draws, axis=0))
    assert drawn.rms == pytest.approx(np.sqrt(np.sum(np.square(steps)) / steps[0].size / 7))
    assert drawn.freedom >= 7
    assert seen.drawn("t5", 8) is drawn


def fetched_with_noise(session):
    """What each disturbed run fetches from now on."""
    run, fetched = session.run, []

    def noted(feeds, fetch, *, noise=None):
        fetched.extend([] if noise is None else [tuple(fetch)])
        return run(feeds, fetch, noise=noise)

    session.run = noted
    return fetched


def test_tensors_are_drawn_in_the_same_runs_each_as_if_alone():
    seen, session = capture(1 << 30)
    alone = {name: capture(1 << 30)[0].drawn(name, 8) for name in ("t3", "t5", "t9")}
    fetched = fetched_with_noise(session)
    seen.draw_together([*alone, "t3"], 8)
    for name, each in alone.items():
        together = seen.drawn(name, 8)
        assert (together.rms, together.freedom) == (each.rms, each.freedom)
        np.testing.assert_array_equal(together.center, each.center)
    assert fetched == [("t3", "t5", "t9")] * 8


def test_tensors_whose_draws_do_not_fit_together_are_drawn_one_after_another():
    seen, session = capture(4 * 6 * 8 * 100)
    fetched = fetched_with_noise(session)
    seen.draw_together(["t3", "t5"], 32)
    assert fetched == [("t3",)] * 32 + [("t5",)] * 32


def test_a_tensor_whose_shape_noise_changes_can_be_anything():
    seen, session = capture(1 << 30)
    run = session.run
    session.run = lambda feeds, fetch, *, noise=None: {
        name: value[: 1 + noise.seed % 2] for name, value in run(feeds, fetch).items()
    }
    drawn = seen.drawn("t5", 4)
    assert (drawn.rms, drawn.freedom) == (np.inf, 3.0)
    assert drawn.center is seen.values["t5"]


def test_each_batch_goes_on_where_the_one_before_it_ended():
    _, session = capture(4 * 6 * 8 * 100)
    assert session.computed == LONG * (TENSOR_DRAWS + 1)


def test_what_was_let_go_is_computed_again_and_only_that():
    seen, session = capture(4 * 6 * 8 * 100)
    before = session.computed
    assert f"t{LONG - 1}" in seen.values
    seen.values[f"t{LONG - 1}"]
    assert session.computed == before, "the last batch is still there"
    seen.values["t0"]
    assert session.computed > before


def test_what_lies_behind_a_given_tensor_is_computed_with_it():
    seen, _ = capture(4 * 6 * 8 * 100)
    given = {"t5": np.zeros_like(X)}
    values = seen.with_given(given)
    assert list(values) == list(seen.values)
    np.testing.assert_array_equal(values["t5"], given["t5"])
    np.testing.assert_array_equal(values["t4"], seen.values["t4"])
    expected = seen.oracle.run({"x": X, **given}, ["t20"])["t20"]
    np.testing.assert_array_equal(values["t20"], expected)
    assert not np.array_equal(values["t20"], seen.values["t20"])


def test_what_has_been_seen_is_not_computed_again():
    seen, session = capture(1 << 30)
    before = session.computed
    assert set(seen.run(["t3", "t30"])) == {"t3", "t30"}
    assert session.computed == before
    given = {"t20": np.zeros_like(X)}
    found = seen.run(["t19", "t20", "t22"], given)
    assert session.computed == before + 1, (
        "only what lies between the given tensor and the requested one"
    )
    np.testing.assert_array_equal(found["t19"], seen.values["t19"])
    np.testing.assert_array_equal(found["t20"], given["t20"])
    expected = session.run({"x": X, **given}, ["t22"])["t22"]
    np.testing.assert_array_equal(found["t22"], expected)


def test_what_cannot_be_fed_is_computed_from_the_inputs():
    seen, session = capture(1 << 30)
    expected = session.run({"x": X, "t20": X}, ["t22"])["t22"]
    whole = session.run

    def only_inputs(feeds, fetch, **options):
        if "t19" in feeds:
            raise RuntimeFailedError("NO_FEED", "this tensor cannot be fed")
        return whole(feeds, fetch, **options)

    session.run = only_inputs
    np.testing.assert_array_equal(seen.run(["t22"], {"t20": X})["t22"], expected)


def test_the_same_substitution_is_computed_once():
    seen, session = capture(10**9)
    given = {"t5": np.zeros_like(X)}
    first = seen.with_given(given)[f"t{LONG - 1}"]
    before = session.computed
    assert seen.with_given(dict(given))[f"t{LONG - 1}"] is first
    assert session.computed == before
    given["t5"] = np.ones_like(X)
    assert not np.array_equal(seen.with_given(given)[f"t{LONG - 1}"], first)
    assert session.computed > before


def test_what_a_node_does_not_take_leaves_the_others_their_values():
    session = Session(
        graph(
            [node("Sin", ["x"], "a"), node("Sin", ["x"], "b"), node("Add", ["a", "b"], "sum"),
             node("Sin", ["sum"], "end"), node("Sin", ["a"], "other")],
            outputs=["end", "other"],
        )
    )  # fmt: skip
    seen = TensorCapture(session.graph, session, {"x": X}, Noise(seed=0, rounding=True))
    seen.compute()
    whole = session.run

    def strict(feeds, fetch, **options):
        try:
            return whole(feeds, fetch, **options)
        except ValueError as error:
            raise RuntimeFailedError(
                "NODE_FAILED", "the oracle could not compute a node"
            ) from error

    session.run = strict
    given = {"a": np.ones((4, 5))}
    found = seen.run(["sum", "end", "other"], given)
    assert list(found) == ["other"]
    np.testing.assert_array_equal(found["other"], np.sin(given["a"]))
    values = seen.with_given(given)
    np.testing.assert_array_equal(values["end"], seen.values["end"])
    np.testing.assert_array_equal(values["other"], found["other"])


def test_a_runtime_is_asked_again_because_a_cut_may_change_it():
    seen, session = capture(1 << 30, noise=False)
    before = session.computed
    seen.run(["t3"])
    assert session.computed == before + 4


def test_a_run_without_noise_has_no_spread():
    seen, session = capture(1 << 30, noise=False)
    assert set(seen.spread.values()) == {0.0}
    assert session.computed == LONG


def test_a_tensor_is_drawn_as_often_as_asked():
    seen, _ = capture(1 << 30)
    drawn = seen.drawn("t3", 16)
    assert drawn.rms == pytest.approx(seen.spread["t3"], rel=1.0)
    np.testing.assert_allclose(drawn.center, seen.values["t3"], atol=4 * drawn.rms)
    assert drawn.freedom >= 15
    assert seen.drawn("t3", 16) is drawn
    unmoved = capture(1 << 30, noise=False)[0].drawn("t3", 16)
    assert unmoved.rms == 0.0
    assert unmoved.center.shape == drawn.center.shape


def test_names_without_a_value_are_no_longer_names():
    kept = TensorCache([("a", "b")], lambda _: {}, 100)
    kept.put(0, {"a": np.zeros(2)})
    assert list(kept) == ["a"]
    assert kept.get("b") is None


def test_the_first_layer_that_has_a_name_answers():
    both = LayeredTensors({"a": np.ones(1)}, {"a": np.zeros(1), "b": np.zeros(1)})
    assert len(both) == 2
    assert both["a"][0] == 1
    with pytest.raises(KeyError):
        both["c"]
