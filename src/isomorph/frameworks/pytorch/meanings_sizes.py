"""What ATen's operators that follow from sizes alone mean, for proofs.

Where sizes are numbers, the values are those of the oracle; these meanings are for sizes that
stand for every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.frameworks.pytorch.meanings_arguments import (
    only_tensors,
    scalar,
    whole_number,
    whole_numbers,
)
from isomorph.proof.sizes import broadcast_shapes
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _size(call: Call) -> Sequence[Term]:
    """The size of one axis."""
    call.only(1)
    size = call.x().shape[call.terms.axis(call.x(), whole_number(call, "dim"))]
    return (call.terms.stated(np.array(size, object), "int64"),)


def _arithmetic(name: str) -> Meaning:
    """A function of two sizes, of which one may be stated as a number."""

    def meaning(call: Call) -> Sequence[Term]:
        given = iter(call.all())
        stated = [call.attr(f"argument_{place}") for place in (0, 1)]
        if any(not isinstance(each, int) for each in stated if each is not None):
            raise NoMeaningError("a number that is no size")
        call.only(sum(each is None for each in stated))
        t = call.terms
        both = [next(given) if n is None else t.constant(np.array(n, np.int64), "int64")
                for n in stated]  # fmt: skip
        if any(each.dtype != "int64" or each.shape for each in both):
            raise NoMeaningError("a number that is no size")
        return (t.function(name, both),)

    return meaning


def _filled(number: int | None, *, like: bool = False) -> Meaning:
    """A tensor of one number, of a stated size or of the size of the input."""

    def meaning(call: Call) -> Sequence[Term]:
        sized = "size" in call.node.attributes
        only_tensors(call, 1 if like else 0, "size")
        stated = call.attr("dtype")
        if stated is None and not like and number is None:
            raise NoMeaningError("a type that the number decides")
        dtype = stated or (call.x().dtype if like else "float32")
        if not isinstance(dtype, str):
            raise NoMeaningError(f"a tensor of type {dtype!r}")
        shape = whole_numbers(call, "size") if sized else call.x().shape
        t = call.terms
        if number is None:
            return (t.filled(scalar(call, "fill_value", dtype), shape),)
        return (t.filled(t.constant(np.array(number), dtype), shape),)

    return meaning


def _counted(call: Call) -> Sequence[Term]:
    """The numbers from zero up to a size."""
    if call.attr("dtype") not in (None, "int64") or call.attr("end") is not None:
        raise NoMeaningError("other numbers than those from zero up to a size")
    call.only(1)
    (size,) = call.ints(0)
    return (call.terms.counted(size),)


def _inside(places: Term, size: int) -> bool:
    """Whether whole numbers lie within an axis, for every size."""
    while places.op in ("reshape", "transpose", "expand"):
        places = places.inputs[0]
    if places.op == "constant" and places.dtype in ("int32", "int64"):
        listed = places.value().reshape(-1).tolist()
        return all(0 <= each < size for each in listed)
    return places.op == "whole" and places.attrs[0] == "counted" and places.attrs[1] <= size


def _indexed(call: Call) -> Sequence[Term]:
    """Elements of a tensor of one number at any places."""
    x, places = call.x(), call.all()[1:]
    if x.op != "expand" or x.inputs[0].shape or len(places) != x.rank:
        raise NoMeaningError("elements at places that depend on a size")
    if not all(_inside(each, size) for each, size in zip(places, x.shape, strict=True)):
        raise NoMeaningError("places that may lie beyond an axis")
    shape = broadcast_shapes(*(each.shape for each in places))
    return (call.terms.filled(x.inputs[0], shape),)


ARITHMETIC: dict[str, Meaning] = {
    "operator.add": _arithmetic("int add"),
    "operator.sub": _arithmetic("int sub"),
    "operator.mul": _arithmetic("int mul"),
    "operator.floordiv": _arithmetic("int div"),
}
SIZES: dict[str, Meaning] = {
    **ARITHMETIC,
    "aten.sym_size.int": _size,
    "aten.arange.default": _counted,
    "aten.index.Tensor": _indexed,
    "aten.zeros.default": _filled(0),
    "aten.ones.default": _filled(1),
    "aten.full.default": _filled(None),
    **{
        f"aten.{kind}.default": _filled(number, like=True)
        for name, number in (("zeros", 0), ("ones", 1), ("full", None))
        for kind in (f"{name}_like", f"new_{name}")
    },
}
"""What follows from shapes, where no value was computed beforehand."""
