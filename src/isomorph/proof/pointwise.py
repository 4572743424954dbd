"""Terms that treat a dynamic axis row by row.

Of such a term, row i for any size is one function of row i of what it is made of. So two of them
that are equal at one size are equal at every size: random rows of one size stand for all others.

``Place`` says where the rows of a dynamic axis are: in an axis of ``before · size · after``
elements, the index of the row is neither the slowest nor the fastest where these are larger than 1.
So an axis may be merged with others and parted again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.proof.sizes import Size, any_size, tried
from isomorph.proof.term import NoMeaningError, unknown_terms

if TYPE_CHECKING:
    from isomorph.proof.term import Term


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a dynamic axis are in a tensor."""

    axis: int
    before: int
    after: int


Places = Mapping[str, Place]
"""By the name of the dynamic axis; a tensor that is the same for all rows has none."""


def leaf(term: Term, known: dict[int, Places | None]) -> Places:
    """The rows of a term that may have any value, as its inputs have them, or as whole axes.

    Whichever elements are called a row: the same ones are so on both sides.
    """
    own = _derived(term, known)
    return _whole_axes(term) if own is None else own


def _derived(term: Term, known: dict[int, Places | None]) -> Places | None:
    """The rows of a term as they follow from the inputs of the model; ``known`` keeps them."""
    for at in unknown_terms(term, known):
        given = [known[each.id] for each in at.inputs]
        plain = [each for each in given if each is not None]
        try:
            if not at.inputs:
                known[at.id] = _whole_axes(at)
            else:
                known[at.id] = places(at, plain) if len(plain) == len(given) else None
        except NoMeaningError:
            known[at.id] = None
    return known[term.id]


def _whole_axes(term: Term) -> Places:
    """Every dynamic axis of a term as an axis of its own."""
    if term.op == "sizes":
        raise NoMeaningError("a number that follows from the size of a dynamic axis")
    found: dict[str, Place] = {}
    for axis, size in enumerate(term.shape):
        if isinstance(size, Size):
            names = [name for name in size.symbols if size.parts == {(name,): 1}]
            if not names or names[0] in found:
                raise NoMeaningError(f"an axis of {size}")
            found[names[0]] = Place(axis, 1, 1)
    return found


def places(term: Term, given: Sequence[Places]) -> Places:
    """Where the rows of each dynamic axis are, given those of the inputs; refuses other terms."""
    if not any_size(term.shape) and not any(given):
        if any_size(term.attrs) or term.op == "sizes":
            raise NoMeaningError("a number that follows from the size of a dynamic axis")
        return {}
    if term.op in ("whole", "loop", "list", "sizes") or any_size(term.attrs):
        raise NoMeaningError(f"{term.op} of all rows of a dynamic axis")
    names = dict.fromkeys(name for each in given for name in each)
    found = {name: _place(term, name, [each.get(name) for each in given]) for name in names}
    for axis, size in enumerate(term.shape):
        if isinstance(size, Size):
            _require(size, axis, found, expands=term.op == "expand")
    return found


def _require(size: Size, axis: int, found: dict[str, Place], *, expands: bool) -> None:
    """Refuse an axis that is not exactly the rows of one dynamic axis, merged with plain ones."""
    listed = [name for name in size.symbols if name in found and found[name].axis == axis]
    if not listed and expands and len(size.symbols) == 1:
        # Every row is the same.
        name = next(iter(size.symbols))
        if name in found or size.parts != {(name,): 1}:
            raise NoMeaningError(f"an expansion to {size}")
        found[name] = Place(axis, 1, 1)
        return
    if len(listed) != 1 or list(size.symbols) != listed:
        raise NoMeaningError(f"an axis of {size}")
    at = found[listed[0]]
    if size.parts != {(listed[0],): at.before * at.after}:
        raise NoMeaningError(f"an axis of {size}")


def _place(term: Term, name: str, given: Sequence[Place | None]) -> Place:
    """The rows of one dynamic axis in the result; they must be where every input has them."""
    found = [_moved(term, name, which, at) for which, at in enumerate(given) if at is not None]
    if any(each != found[0] for each in found):
        raise NoMeaningError(f"rows of {name} beside other rows")
    return found[0]


def _moved(term: Term, name: str, which: int, at: Place) -> Place:
    """The place in the result of the rows that one input has at a place."""
    if term.op == "reshape":
        return _reshaped(term, term.inputs[which], name, at)
    kept = _KEPT.get(term.op)
    axis = None if kept is None else kept(term, which, at.axis)
    if axis is None:
        raise NoMeaningError(f"{term.op} over the rows of {name}")
    return Place(axis, at.before, at.after)


def _beside(term: Term, which: int, axis: int) -> int:
    """The axis of an elementwise result, counted from the back as in the input."""
    return axis + term.rank - term.inputs[which].rank


def _selected(term: Term, which: int, axis: int) -> int | None:
    """Of a choice by a mask that is the same for all rows."""
    found = _beside(term, which, axis)
    return found if term.data.shape[found] == 1 else None


def _reduced(term: Term, which: int, axis: int) -> int | None:
    """Of a reduction over other axes; elements that do not count are the same for all rows."""
    if axis in term.attrs[0]:
        return None
    if term.data is not None:
        beside = term.data.ndim - term.inputs[which].rank + axis
        if beside >= 0 and term.data.shape[beside] != 1:
            return None
    return int(axis - sum(each < axis for each in term.attrs[0]))


def _taken(term: Term, _: int, axis: int) -> int | None:
    """Of elements of another axis, which is replaced by those of the indices."""
    other, shape = term.attrs[0], term.attrs[1]
    return None if other == axis else axis + (len(shape) - 1 if axis > other else 0)


def _in_front(term: Term, which: int, axis: int) -> int | None:
    """Of windows or spread elements of the axes behind."""
    return axis if axis < term.inputs[which].rank - len(term.attrs[0]) else None


def _multiplied(term: Term, which: int, axis: int) -> int | None:
    """Of a product of matrices, over another axis."""
    contracted = term.inputs[which].rank - (1 if which == 0 else 2)
    return None if axis == contracted else _beside(term, which, axis)


_KEPT: Mapping[str, Callable[[Term, int, int], int | None]] = {
    **dict.fromkeys(("add", "mul", "inverse", "function", "retype", "expand"), _beside),
    **dict.fromkeys(("sum", "largest"), _reduced),
    **dict.fromkeys(("windows", "spread"), _in_front),
    **dict.fromkeys(
        ("slice", "concat"), lambda term, _, axis: None if term.attrs[0] == axis else axis
    ),
    "select": _selected,
    "transpose": lambda term, _, axis: int(term.attrs[0].index(axis)),
    "rows": lambda term, _, axis: None if term.attrs[3] == axis else axis,
    "pad": lambda term, which, axis: axis if which == 0 and not any(term.attrs[0][axis]) else None,
    "take": _taken,
    "matmul": _multiplied,
    "conv": lambda _, which, axis: 0 if which == 0 and axis == 0 else None,
    "lookup": lambda term, which, axis: axis + int(term.attrs[0]) if which == 1 else None,
}
"""By primitive: the axis of the result that an axis of an input becomes; None where rows meet."""


def _reshaped(term: Term, x: Term, name: str, at: Place) -> Place:
    """The same elements in the same order: what lies before and behind the rows stays."""
    before = math.prod(x.shape[: at.axis]) * at.before
    after = math.prod(x.shape[at.axis + 1 :]) * at.after
    for axis, size in enumerate(term.shape):
        if not isinstance(size, Size) or name not in size.symbols:
            continue
        outer, inner = math.prod(term.shape[:axis]), math.prod(term.shape[axis + 1 :])
        if not outer or not inner:
            continue
        if not before % outer and not after % inner:
            low, high = before // outer, after // inner
            if not any_size((low, high)) and size.parts == {(name,): low * high}:
                return Place(axis, low, high)
    raise NoMeaningError(f"rows of {name} that are parted")


def as_tried(term: Term) -> Term:
    """A term with the sizes that were tried, to evaluate it on inputs of these sizes."""
    if not any_size((*term.shape, *term.attrs, *(each.shape for each in term.inputs))):
        return term
    inputs = tuple(replace(each, shape=tried(each.shape)) for each in term.inputs)
    return replace(term, shape=tried(term.shape), attrs=tried(term.attrs), inputs=inputs)
