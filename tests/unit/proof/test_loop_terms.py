"""A loop as one term: what tells it from others, and what does not."""

import numpy as np
import pytest

from isomorph.proof.loop_terms import Loop, Round, as_term, most_rounds
from isomorph.proof.real import evaluated
from isomorph.proof.term import NoMeaningError, is_partial
from isomorph.proof.terms import Terms

X = np.linspace(-1, 1, 3)


@pytest.fixture
def t():
    return Terms()


def whole(t, number):
    return t.constant(np.array(number, np.int64), "int64")


def loop(t, step, *states, rounds=5):
    return Loop(step=lambda i, _, s, __: Round(going=None, states=step(i, *s)), states=states,
                most=whole(t, rounds))  # fmt: skip


def tanh(t, x):
    return t.function("tanh", (x,))


def test_equal_rounds_are_one_term(t):
    x = t.input("x", (3,), "float32")
    (first,), _ = as_term(t, loop(t, lambda _, s: (tanh(t, s),), x))
    (second,), _ = as_term(t, loop(t, lambda _, s: (tanh(t, s),), x))
    (longer,), _ = as_term(t, loop(t, lambda _, s: (tanh(t, s),), x, rounds=6))
    (other,), _ = as_term(t, loop(t, lambda _, s: (t.add(s, x),), x))
    assert first is second
    assert len({first.id, longer.id, other.id}) == 3
    assert is_partial(first)


def test_a_term_has_the_value_of_its_rounds(t):
    x = t.input("x", (3,), "float32")
    (first, other), _ = as_term(t, loop(t, lambda _, s, u: (t.add(s, u), tanh(t, u)), x, t.neg(x)))
    s, u = X, -X
    for _ in range(5):
        s, u = s + u, np.tanh(u)
    np.testing.assert_allclose(evaluated(first, {"x": X}), s)
    np.testing.assert_allclose(evaluated(other, {"x": X}), u)


def test_what_no_round_changes_is_its_first_value(t):
    x, y = t.input("x", (3,), "float32"), t.input("y", (3,), "float32")
    (with_state, fixed), _ = as_term(t, loop(t, lambda _, s, u: (t.add(s, u), u), x, y))
    (captured,), _ = as_term(t, loop(t, lambda _, s: (t.add(s, y),), x))
    assert fixed is y
    assert with_state is captured
    assert y in captured.inputs


def test_no_variable_leaves_its_loop(t):
    x = t.input("x", (3,), "float32")

    def outer(_, s):
        (inner,), _ = as_term(t, loop(t, lambda _, z: (t.add(z, s),), x))
        return (inner,)

    (made,), _ = as_term(t, loop(t, outer, x))
    names = [each.attrs[0] for each in made.inputs if each.op == "input"]
    assert set(names) == {"x"}
    s = X
    for _ in range(5):
        s = X + 5 * s
    np.testing.assert_allclose(evaluated(made, {"x": X}), s)


def test_rows_and_sequences(t):
    rows = t.input("rows", (4, 3), "float32")
    start = t.input("x", (3,), "float32")

    def step(_, __, states, given):
        (s,), (row,) = states, given
        return Round(going=None, states=(t.add(s, row),), rows=(t.neg(s),))

    made = Loop(step=step, states=(start,), most=whole(t, 4), sequences=(rows,))
    (last,), (column,) = as_term(t, made)
    values = {"x": X, "rows": np.arange(12.0).reshape(4, 3)}
    np.testing.assert_allclose(evaluated(last, values), X + values["rows"].sum(0))
    assert evaluated(column, values).shape == column.shape == (4, 3)
    np.testing.assert_allclose(evaluated(column, values)[1], -(X + values["rows"][0]))


@pytest.mark.parametrize("step", ["grows", "changes its type", "may be infinite"])
def test_states_that_are_not_the_same_kind_are_refused(t, step):
    x = t.input("x", (3,), "float32")
    steps = {
        "grows": lambda s: t.concat([s, s], 0),
        "changes its type": lambda s: t.retype(s, "float64"),
        "may be infinite": t.inverse,
    }
    with pytest.raises(NoMeaningError):
        as_term(t, loop(t, lambda _, s: (steps[step](s),), x))


def test_fewer_rounds_of_inner_loops_are_written_out(t):
    outside = most_rounds(t)
    t.written_out = 1
    assert 0 < most_rounds(t) < outside
