"""Meanings that frameworks share: elementwise functions, sums, comparisons and choices.

Each takes the operands in the places in which ONNX, TensorFlow and TFLite have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isomorph.proof import spelling as spell
from isomorph.proof import whole_numbers
from isomorph.proof.calls import Call, Meaning
from isomorph.proof.term import NoMeaningError, Term


def unary(name: str) -> Meaning:
    """An unknown function of float elements."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        return (spell.unary(call.terms, name, call.x()),)

    return meaning


def one(function: Callable[[Call, Term], Term]) -> Meaning:
    """A spelling of one float tensor."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        if not call.x().is_float:
            raise NoMeaningError(f"{call.node.op} of {call.x().dtype}")
        return (function(call, call.x()),)

    return meaning


def identity(call: Call) -> Sequence[Term]:
    """The tensor itself."""
    call.only(1)
    return (call.x(),)


def absolute(call: Call, x: Term) -> Term:
    """The larger of a tensor and its negative."""
    return call.terms.maximum(x, call.terms.neg(x))


def reciprocal_root(call: Call, x: Term) -> Term:
    """One divided by the square root."""
    return call.terms.inverse(spell.sqrt(call.terms, x))


def combined(call: Call, name: str) -> Term:
    """A sum, difference, product or quotient of floats.

    Of whole numbers, which wrap, it is an unknown function of their type; how a quotient of them
    is rounded differs between frameworks.
    """
    call.only(2)
    t, a, b = call.terms, call.x(0), call.x(1)
    if a.is_float and b.is_float:
        made: Term = getattr(t, name)(a, b)
        return made
    if a.dtype != b.dtype or "bool" in (a.dtype, b.dtype):
        raise NoMeaningError(f"operands of types {a.dtype} and {b.dtype}")
    if name == "div":
        raise NoMeaningError(f"a quotient of {a.dtype}")
    exact = {"mul": whole_numbers.product, "add": whole_numbers.total}.get(name)
    chosen = None if exact is None else exact(t, a, b)
    if chosen is not None:
        return chosen
    return t.function(f"int {name}", (a, b), commutes=name in ("add", "mul"))


def binary(name: str) -> Meaning:
    """``combined`` as a meaning."""
    return lambda call: (combined(call, name),)


def squared_difference(call: Call) -> Sequence[Term]:
    """The square of a difference of floats."""
    call.only(2)
    off = call.terms.sub(call.x(0), call.x(1))
    return (call.terms.mul(off, off),)


def extremum(name: str) -> Meaning:
    """The larger or the smaller of two elements."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(2)
        return (getattr(call.terms, name)(call.x(0), call.x(1)),)

    return meaning


def compared(name: str, *, turned: bool = False, negated: bool = False) -> Meaning:
    """A comparison, with its operands ``turned``, or its result ``negated``."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(2)
        a, b = (call.x(1), call.x(0)) if turned else (call.x(0), call.x(1))
        found = spell.compare(call.terms, name, a, b)
        return (call.terms.function("not", (found,), dtype="bool") if negated else found,)

    return meaning


def logical(name: str) -> Meaning:
    """A function of truth values; of numbers it would be one of their bits."""

    def meaning(call: Call) -> Sequence[Term]:
        if any(each.dtype != "bool" for each in call.all()):
            raise NoMeaningError(f"{name} of numbers")
        return (call.terms.function(name, call.all(), dtype="bool", commutes=name != "not"),)

    return meaning


def chosen(call: Call) -> Sequence[Term]:
    """One of two tensors, element by element."""
    call.only(3)
    return (spell.where(call.terms, call.x(0), call.x(1), call.x(2)),)


def clipped(low: float, high: float) -> Callable[[Call, Term], Term]:
    """A tensor between two numbers that an operator implies."""
    return lambda call, x: spell.clip(
        call.terms, x, call.terms.number(low, x.dtype), call.terms.number(high, x.dtype)
    )


def reduced(call: Call, function: Callable[..., Term], *, kept: bool) -> Sequence[Term]:
    """A reduction over the axes that the second input lists."""
    call.only(2)
    axes = call.ints(1)
    if not axes:
        raise NoMeaningError("a reduction over no axes")
    return (function(call.terms, call.x(0), axes, kept=kept),)


def place_of_largest(call: Call, axis: int, dtype: str) -> Sequence[Term]:
    """The first place of the largest element, as a whole number that any type here holds."""
    if dtype not in ("int32", "int64"):
        raise NoMeaningError(f"places of type {dtype}")
    t, x = call.terms, call.x()
    place = t.axis(x, axis)
    found = t.rows("argmax", x, place, 1, dtype="int64", finite=True)
    shape = [size for at, size in enumerate(found.shape) if at != place]
    return (t.retype(t.reshape(found, shape), dtype),)
