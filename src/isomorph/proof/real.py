"""The same terms in float64: what a spelling computes, to compare it with a framework's kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.erf import erf
from isomorph.kernels.windows import every_window
from isomorph.proof.movement import moved
from isomorph.proof.term import MOVES, WHOLE_IN_FLOAT32, NoMeaningError, unknown_terms

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.term import Term

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "log": np.log, "exp": np.exp, "erf": erf, "tanh": np.tanh, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "round": np.round, "sign": np.sign,
    "pow": np.power, "max": np.maximum, "min": np.minimum, "less": np.less,
    "less_equal": np.less_equal, "equal": np.equal, "not": np.logical_not,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "where": np.where,
    "if": np.where,
    "softplus": lambda x: np.logaddexp(x, 0.0),
}  # fmt: skip
"""Elementwise functions by the names that spellings give them."""


_EXACT: Mapping[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in ("less", "less_equal", "equal", "not", "and", "or", "xor",
                                          "max", "min", "where", "if")},
    "int add": np.add, "int sub": np.subtract, "int mul": np.multiply,
}  # fmt: skip
"""Functions whose results on stored numbers are exact; whole numbers wrap as in every runtime."""


def exact(term: Term) -> Array | None:
    """The value of a function of constants, where every runtime computes it exactly."""
    given = [each.value() for each in term.inputs]
    name = term.attrs[0]
    if name == "cast":
        return _exact_cast(term, given[0])
    if name not in _EXACT:
        return None
    with np.errstate(over="ignore"):
        return np.asarray(_EXACT[name](*given))


def _exact_cast(term: Term, value: Array) -> Array | None:
    """Of whole numbers to others that hold them, or to floats that hold all up to them."""
    if value.dtype.kind not in "biu":
        return None
    whole = np.asarray(value, object)
    if term.dtype in ("float32", "float64"):
        fits = all(abs(int(each)) <= WHOLE_IN_FLOAT32 for each in whole.reshape(-1))
        return np.asarray(value, np.float64) if fits else None
    if term.dtype == "bool":
        return np.asarray(value != 0)
    if term.is_float:
        return None
    bounds = np.iinfo(term.dtype)
    fits = all(bounds.min <= int(each) <= bounds.max for each in whole.reshape(-1))
    return np.asarray(value, term.dtype) if fits else None


def evaluated(
    term: Term, inputs: Mapping[str, Array], known: dict[int, Array] | None = None
) -> Array:
    """The value of a term in float64; ``known`` keeps what was computed."""
    known = {} if known is None else known
    for at in unknown_terms(term, known):
        if at.op == "loop":
            known[at.id] = _loop(at, known, inputs)
        else:
            known[at.id] = _value(at, [known[each.id] for each in at.inputs], inputs)
    return known[term.id]


def _value(term: Term, given: Sequence[Array], inputs: Mapping[str, Array]) -> Array:
    if term.op in MOVES:
        return moved(term, given)
    if term.op in _OPERATIONS:
        return np.asarray(_OPERATIONS[term.op](term, *given))
    if term.op == "input":
        return np.asarray(inputs[term.attrs[0]])
    if term.op == "constant":
        value = term.value()
        return np.asarray(value, np.float64) if term.is_float else np.asarray(value)
    raise NoMeaningError(f"{term.op} has no value in real numbers")


def _loop(term: Term, known: Mapping[int, Array], inputs: Mapping[str, Array]) -> Array:
    """A loop, round by round; the order of its inputs is that of ``loop_terms.OneRound``."""
    of = term.data
    given = iter(known[each.id] for each in term.inputs)
    most = int(next(given)) if of.bounded else None
    going = np.asarray(next(given)) if of.going is not None else np.array(True)
    states = [next(given) for _ in of.variables]
    sequences = [next(given) for _ in of.rows]
    around = {each.id: known[each.id] for each in term.inputs}
    found: list[Array] = []
    place = 0
    while bool(going) and (most is None or place < most):
        values = dict(around)
        values |= {each.id: value for each, value in zip(of.variables, states, strict=True)}
        values |= {each.id: value[place] for each, value in zip(of.rows, sequences, strict=True)}
        values[of.number.id] = np.array(place)
        if of.goes_on is not None:
            values[of.goes_on.id] = going
        states = [evaluated(each, inputs, values) for each in of.results]
        if of.going is not None:
            going = evaluated(of.going, inputs, values)
        if term.attrs[0]:
            found.append(evaluated(of.wanted, inputs, values))
        place += 1
    return np.stack(found) if term.attrs[0] else states[of.variables.index(of.wanted)]


def _largest(term: Term, x: Array) -> Array:
    hidden = x if term.data is None else np.where(term.data, -np.inf, x)
    return np.asarray(hidden.max(axis=term.attrs[0]))


def _function(term: Term, *given: Array) -> Array:
    name = term.attrs[0]
    if name == "cast":
        return np.asarray(given[0]).astype(np.float64 if term.is_float else term.dtype)
    if name in ("add of infinite", "mul of infinite"):
        return given[0] + given[1] if name.startswith("add") else given[0] * given[1]
    if name not in FUNCTIONS:
        raise NoMeaningError(f"{name} has no value in real numbers")
    return np.asarray(FUNCTIONS[name](*given))


def _rows(term: Term, x: Array) -> Array:
    name, attrs, _, axis = term.attrs
    if name == "softmax":
        shifted = np.exp(x - x.max(axis=axis, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=axis, keepdims=True))
    if name == "argmax":
        return np.asarray(np.argmax(x, axis=axis, keepdims=True))
    raise NoMeaningError(f"{name} {attrs} has no value in real numbers")


def _convolution(term: Term, x: Array, w: Array) -> Array:
    strides, dilations, groups = term.attrs
    spatial = x.ndim - 2
    view = every_window(x, w.shape[2:], strides, dilations)
    channels, outputs = x.shape[1] // groups, w.shape[0] // groups
    inside = tuple(range(2 + spatial, 2 + 2 * spatial))
    parts = []
    for group in range(groups):
        part = view[:, group * channels : (group + 1) * channels]
        kernel = w[group * outputs : (group + 1) * outputs]
        found = np.tensordot(part, kernel, axes=((1, *inside), (1, *range(2, 2 + spatial))))
        parts.append(np.moveaxis(found, -1, 1))
    return np.concatenate(parts, 1)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda _, a, b: a + b,
    "mul": lambda _, a, b: a * b,
    "inverse": lambda _, x: 1.0 / x,
    "sum": lambda term, x: x.sum(axis=term.attrs[0]),
    "matmul": lambda _, a, b: a @ b,
    "conv": _convolution,
    "function": _function,
    "largest": _largest,
    "lookup": lambda term, x, at: np.take(x, np.asarray(at, np.int64), term.attrs[0]),
    "rows": _rows,
}
