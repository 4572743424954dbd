"""What TensorFlow's branches, loops and TensorLists mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof import shared_sizes as sizes
from isomorph.proof import spelled_lists as lists
from isomorph.proof.calls import Call, Meaning
from isomorph.proof.spelled_control import branch, while_loop
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.trace import Array


def _while(call: Call) -> Sequence[Term]:
    # The shapes are those of the states, and rounds that overlap compute the same.
    call.derived("output_shapes", "parallel_iterations")
    condition, body = call.body("cond"), call.body("body")
    return while_loop(call.terms, call.all(), condition.run, body.run)


def _if(call: Call) -> Sequence[Term]:
    call.derived("output_shapes", "Tcond", "Tin", "Tout")
    then, other = call.body("then_branch"), call.body("else_branch")
    return branch(call.terms, call.x(0), then.run, other.run, call.all()[1:])


def _element_type(call: Call) -> str:
    dtype = call.needs("element_dtype")
    if not isinstance(dtype, str):
        raise NoMeaningError(f"a list of {dtype!r}")
    return dtype


def _require_shape(stated: Array, x: Term) -> None:
    """Refuse an element of another shape than the operator states; -1 is any size."""
    sizes = stated.reshape(-1).tolist()
    if not stated.ndim and sizes == [-1]:
        return
    fits = len(sizes) == x.rank and all(a in (-1, b) for a, b in zip(sizes, x.shape, strict=True))
    if not fits:
        raise NoMeaningError("elements of another shape")


def _reserve(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("shape_type")
    (count,) = call.ints(1)
    return (lists.reserved(call.terms, count, _element_type(call)),)


def _from_tensor(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("shape_type")
    if _element_type(call) != call.x().dtype:
        raise NoMeaningError("a list of another type")
    made = lists.listed(call.terms, call.x())
    for each in made.inputs:
        _require_shape(np.asarray(call.value(1)), each)
    return (made,)


def _get(call: Call) -> Sequence[Term]:
    call.only(3)
    (place,) = call.ints(1)
    found = lists.element(call.terms, call.x(), place, _element_type(call))
    _require_shape(np.asarray(call.value(2)), found)
    return (found,)


def _set(call: Call) -> Sequence[Term]:
    call.only(3)
    # A place beyond the list is refused in any case.
    call.derived("resize_if_index_out_of_bounds")
    if _element_type(call) != call.x(2).dtype:
        raise NoMeaningError("an element of another type")
    (place,) = call.ints(1)
    return (lists.replaced(call.terms, call.x(0), place, call.x(2)),)


def _stack(call: Call) -> Sequence[Term]:
    call.only(2)
    found = lists.all_of(call.terms, call.x(), _element_type(call))
    if call.needs("num_elements") not in (-1, found.shape[0]):
        raise NoMeaningError("a list of another length")
    _require_shape(np.asarray(call.value(1)), call.x().inputs[0])
    return (found,)


def _shape(call: Call) -> Sequence[Term]:
    call.only(1)
    dtype = str(call.attr("out_type", "int32"))
    if dtype not in ("int32", "int64") or call.x().op == "list":
        raise NoMeaningError(f"a shape of type {dtype}")
    return (call.terms.stated(np.array(call.x().shape, object), dtype),)


CONTROL: dict[str, Meaning] = {
    "While": _while,
    "StatelessWhile": _while,
    "If": _if,
    "StatelessIf": _if,
}
LISTS: dict[str, Meaning] = {
    "TensorListReserve": _reserve,
    "TensorListFromTensor": _from_tensor,
    "TensorListGetItem": _get,
    "TensorListSetItem": _set,
    "TensorListStack": _stack,
}
IN_BODIES: dict[str, Meaning] = {
    "Shape": _shape,
    "Fill": sizes.filled,
    "ZerosLike": sizes.filled_alike(0),
    "OnesLike": sizes.filled_alike(1),
    "Prod": sizes.product,
}
"""What follows from shapes, where no value was computed beforehand."""
