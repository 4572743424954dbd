"""A term is pointwise only if each row of its result follows from the same row of its inputs."""

import numpy as np
import pytest

from isomorph.proof.pointwise import Place, as_tried, leaf, places
from isomorph.proof.real import evaluated
from isomorph.proof.sizes import Symbol, symbolic
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms

T = Terms()
N = symbolic(Symbol("n", 3))
X = T.input("x", (N, 2, 4), "float32")
FLAT = T.input("f", (N, 4), "float32")
LINE = T.input("l", (2, 3, N), "float32")
W = T.constant(np.arange(12.0).reshape(4, 3), "float32")


def found(term: Term):
    """The rows of a term that follow from those of its inputs, one by one."""
    if not term.inputs:
        return leaf(term, {})
    return places(term, [found(each) for each in term.inputs])


def made(op, inputs, shape, attrs=(), data=None):
    """A primitive as it is, without the rules that move it."""
    return Term(10**9, op, attrs, tuple(inputs), tuple(shape), "float32", True, False, data=data)


KEPT = {
    "a sum of another axis": (T.sum(X, (1,)), Place(0, 1, 1)),
    "a sum in front": (T.sum(LINE, (0,)), Place(1, 1, 1)),
    "a transposition": (T.transpose(X, (1, 2, 0)), Place(2, 1, 1)),
    "rows merged with what is behind": (T.reshape(X, (2 * N, 4)), Place(0, 1, 2)),
    "rows merged with what is in front": (
        T.reshape(T.transpose(X, (1, 0, 2)), (2 * N, 4)), Place(0, 2, 1),
    ),
    "rows parted again": (T.reshape(T.neg(X), (N, 8)), Place(0, 1, 1)),
    "a product with weights": (made("matmul", (FLAT, W), (N, 3)), Place(0, 1, 1)),
    "a stack of products": (
        made("matmul", (X, T.transpose(X, (0, 2, 1))), (N, 2, 2)), Place(0, 1, 1),
    ),
    "an expansion": (T.expand(W, (N, 4, 3)), Place(0, 1, 1)),
    "a slice of another axis": (T.slice(X, 2, 0, 2), Place(0, 1, 1)),
    "elements of an axis in front": (T.take(LINE, 1, np.array([[0, 1]])), Place(3, 1, 1)),
    "a border of another axis": (
        T.pad(X, (0, 1, 0), (0, 0, 0), T.number(0.0, "float32")), Place(0, 1, 1),
    ),
    "a largest element of another axis": (T.largest(X, (2,)), Place(0, 1, 1)),
    "a function of rows of another axis": (T.rows("argmax", X, 2, 1), Place(0, 1, 1)),
    "windows of axes behind": (T.windows(X, (2,), (1,), (1,)), Place(0, 1, 1)),
    "a choice by one mask for all rows": (
        T.select(np.array([True, False, True, False]), FLAT, T.neg(FLAT)), Place(0, 1, 1),
    ),
    "a lookup of rows of indices": (
        T.lookup(W, T.input("i", (N, 2), "int64"), 0), Place(0, 1, 1),
    ),
    "a convolution of a batch": (
        T.conv(T.input("c", (N, 2, 5), "float32"), T.constant(np.ones((3, 2, 2)), "float32"),
               (1,), (1,), 1), Place(0, 1, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(KEPT))
def test_rows_are_followed(name):
    term, place = KEPT[name]
    assert found(term) == {"n": place}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_row_of_the_result_depends_on_that_row_alone(name):
    term, place = KEPT[name]
    draw = np.random.default_rng(0)
    given, inputs = {}, [term]
    while inputs:
        at = inputs.pop()
        inputs += at.inputs
        if at.op == "input":
            shape = as_tried(at).shape
            given[at.attrs[0]] = (
                draw.normal(size=shape) if at.is_float else draw.integers(0, 4, shape)
            )
    changed = {name: value.copy() for name, value in given.items()}
    for name, value in changed.items():
        rows = np.moveaxis(value, -1 if name == "l" else 0, 0)
        rows[1:] = rows[1:] + 1 if value.dtype.kind == "f" else 3 - rows[1:]
    try:
        one, other = (_value(term, each) for each in (given, changed))
    except NoMeaningError:
        pytest.skip("an unknown function")
    parted = (*one.shape[: place.axis], place.before, 3, place.after, *one.shape[place.axis + 1 :])
    left, right = (np.moveaxis(each.reshape(parted), place.axis + 1, 0) for each in (one, other))
    assert np.array_equal(left[0], right[0])


def _value(term, given):
    known = {}

    def of(at):
        for each in at.inputs:
            of(each)
        if at.id not in known or at.id == 10**9:
            whole = as_tried(at)
            known[at.id] = np.asarray(
                evaluated(whole, given, {k: v for k, v in known.items() if k != at.id})
            )

    of(term)
    return known[term.id]


REFUSED = {
    "a sum of the rows": T.sum(X, (0,)),
    "a largest row": T.largest(X, (0,)),
    "a function of all rows": T.rows("softmax", X, 0, None),
    "a slice of rows": T.slice(X, 0, 0, 1),
    "rows backward": T.slice(X, 0, N - 1, N, -1),
    "rows behind others": T.concat([X, X], 0),
    "a border of rows": T.pad(X, (1, 0, 0), (0, 0, 0), T.number(0.0, "float32")),
    "listed rows": T.take(X, 0, np.array([0])),
    "a product of rows": made("matmul", (T.transpose(FLAT, (1, 0)), FLAT), (4, 4)),
    "all pairs of rows": made("matmul", (FLAT, T.transpose(FLAT, (1, 0))), (N, N)),
    "windows of rows": T.windows(LINE, (1,), (1,), (1,)),
    "rows with zeros between": T.spread(LINE, (2,)),
    "a convolution of rows": T.conv(
        T.pad(LINE, (0, 0, 1), (0, 0, 1), T.number(0.0, "float32")),
        T.constant(np.ones((2, 3, 3)), "float32"), (1,), (1,), 1,
    ),
    "a lookup among rows": T.lookup(X, T.input("j", (2,), "int64"), 0),
    "an unknown function of everything": T.opaque("f", (X,), (N, 2), "float32"),
    "rows beside others in order": T.add(
        T.reshape(X, (2 * N, 4)), T.reshape(T.transpose(X, (1, 0, 2)), (2 * N, 4))
    ),
    "other rows": T.add(made("reshape", (T.transpose(FLAT, (1, 0)),), (N, 4)), FLAT),
    "a size": T.stated(np.array([N], object), "float32"),
    "a factor of a size": T.mul(FLAT, T.stated(np.array(N, object), "float32")),
    "two axes of rows": T.expand(T.input("e", (N, 1), "float32"), (N, N)),
    "an expansion to merged rows": T.expand(T.input("g", (1, 4), "float32"), (2 * N, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_rows_that_meet_are_refused(name):
    with pytest.raises(NoMeaningError):
        found(REFUSED[name])


def test_a_leaf_has_the_rows_of_what_it_is_made_of_or_whole_axes():
    merged = T.reshape(X, (2 * N, 4))
    assert leaf(merged, {}) == {"n": Place(0, 1, 2)}
    assert leaf(T.rows("softmax", X, 0, None), {}) == {"n": Place(0, 1, 1)}
    with pytest.raises(NoMeaningError):
        leaf(T.concat([X, X], 0), {})


def test_terms_without_rows_have_none():
    assert found(T.sum(W, (0,))) == {}
    assert as_tried(W) is W
    assert as_tried(X).shape == (3, 2, 4)


def test_the_numbers_of_rows_are_no_function_of_them():
    with pytest.raises(NoMeaningError):
        places(T.counted(N), [])
