"""Meanings that frameworks share: elementwise functions, sums, comparisons and choices.

Each takes the operands in the places in which ONNX, TensorFlow and TFLite have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isomorph.proof import spelled_einsum, whole_numbers
from isomorph.proof import spelling as spell
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
        return (function(call, _floats(call)),)

    return meaning


def _floats(call: Call) -> Term:
    """The first input, which must be floats."""
    if not call.x().is_float:
        raise NoMeaningError(f"{call.node.op} of {call.x().dtype}")
    return call.x()


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


def hard_swish(call: Call, x: Term) -> Term:
    """A tensor times a line that is clipped to 0…1."""
    return call.terms.mul(x, spell.hard_gate(call.terms, call.implied, x))


def leaky_relu(call: Call, x: Term) -> Term:
    """A tensor where it is positive, and ``alpha`` times it where it is negative."""
    slope = call.terms.number(float(call.needs("alpha")), x.dtype)
    return spell.leaky_relu(call.terms, x, slope)


def prelu(call: Call) -> Sequence[Term]:
    """A tensor where it is positive, and a stored multiple of it where it is negative."""
    call.only(2)
    return (spell.leaky_relu(call.terms, _floats(call), call.x(1)),)


def power(call: Call) -> Sequence[Term]:
    """The first input to the power of the second."""
    call.only(2)
    return (spell.power(call.terms, call.x(0), call.x(1)),)


def einsum(call: Call) -> Sequence[Term]:
    """The sum of products that an equation states."""
    return (spelled_einsum.einsum(call.terms, str(call.needs("equation")), call.all()),)


def matmul(left: str, right: str) -> Meaning:
    """A product of matrices; two attributes say whether one of them is transposed."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(2)
        call.derived("transA", "transB")
        t, a, b = call.terms, call.x(0), call.x(1)
        a = spell.swapped(t, a) if call.needs(left) else a
        b = spell.swapped(t, b) if call.needs(right) else b
        return (t.matmul(a, b),)

    return meaning


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


def two_inputs(call: Call) -> tuple[Term, Term]:
    """Both operands of an operator that has no others."""
    call.only(2)
    return call.x(0), call.x(1)


def compared(
    name: str,
    *,
    turned: bool = False,
    negated: bool = False,
    operands: Callable[[Call], tuple[Term, Term]] = two_inputs,
) -> Meaning:
    """A comparison, with its operands ``turned``, or its result ``negated``."""

    def meaning(call: Call) -> Sequence[Term]:
        a, b = operands(call)
        a, b = (b, a) if turned else (a, b)
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


def chosen_alike(call: Call) -> Sequence[Term]:
    """The older choice, whose condition may also be one value per row."""
    if call.x(0).shape != call.x(1).shape or call.x(1).shape != call.x(2).shape:
        raise NoMeaningError("a choice between tensors of different shapes")
    return chosen(call)


def clipped(low: float, high: float) -> Callable[[Call, Term], Term]:
    """A tensor between two numbers that an operator implies."""
    return lambda call, x: spell.clip(
        call.terms, x, call.terms.number(low, x.dtype), call.terms.number(high, x.dtype)
    )


def reduced(function: Callable[..., Term]) -> Meaning:
    """A reduction over the axes that the second input lists."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(2)
        call.derived("axes", "keepdims")
        axes, kept = call.ints(1), bool(call.needs("keep_dims"))
        if not axes:
            raise NoMeaningError("a reduction over no axes")
        return (function(call.terms, call.x(0), axes, kept=kept),)

    return meaning


def arg_max(call: Call) -> Sequence[Term]:
    """The first place of the largest element along the axis that the second input states."""
    call.only(2)
    call.derived("axis", "keepdims")
    _floats(call)
    return place_of_largest(call, call.ints(1)[0], str(call.needs("output_type")))


def place_of_largest(
    call: Call, axis: int, dtype: str = "int64", *, kept: bool = False
) -> Sequence[Term]:
    """The first place of the largest element, as a whole number that any type here holds."""
    if dtype not in ("int32", "int64"):
        raise NoMeaningError(f"places of type {dtype}")
    t, x = call.terms, call.x()
    place = t.axis(x, axis)
    found = t.rows("argmax", x, place, 1, dtype="int64", finite=True)
    shape = [size for at, size in enumerate(found.shape) if kept or at != place]
    return (t.retype(t.reshape(found, shape), dtype),)


def stated_cumulative_sum(call: Call) -> Sequence[Term]:
    """``cumulative_sum`` of an operator that states its options."""
    call.derived("axis")
    options = {key: bool(call.needs(key)) for key in ("exclusive", "reverse")}
    return cumulative_sum(call, **options)


def cumulative_sum(call: Call, *, exclusive: bool, reverse: bool) -> Sequence[Term]:
    """The sums of all elements up to each one along the axis that the second input states."""
    call.only(2)
    t, x, axis = call.terms, _floats(call), call.ints(1)[0]
    return (spell.cumulative_sum(t, x, axis, exclusive=exclusive, reverse=reverse),)
