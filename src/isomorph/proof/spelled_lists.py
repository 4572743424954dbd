"""Lists of tensors, in which some frameworks collect the rows of a loop.

A list is no tensor: its type is none that arithmetic or movement accepts, and only the functions
of this module read it. The places that are read or written must be constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof.spelled_movement import stacked, unstacked
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.terms import Terms

TYPE = "variant"


def _made(t: Terms, elements: Sequence[Term], dtype: str) -> Term:
    return t.make("list", elements, (len(elements),), TYPE, attrs=(dtype,), finite=True)


def reserved(t: Terms, count: int, dtype: str) -> Term:
    """A list of places that hold nothing yet."""
    if count < 0:
        raise NoMeaningError("a list of no known length")
    nothing = t.make("nothing", (), (0,), TYPE, finite=True)
    return _made(t, [nothing] * count, dtype)


def listed(t: Terms, x: Term) -> Term:
    """The rows of a tensor."""
    if x.op == "list":
        raise NoMeaningError("a list of lists")
    return _made(t, unstacked(t, x, 0), x.dtype)


def element(t: Terms, given: Term, place: int, dtype: str) -> Term:
    """One element, which must have been set."""
    found = _elements(given, dtype)
    if not 0 <= place < len(found) or found[place].op == "nothing":
        raise NoMeaningError("a place of a list that holds nothing")
    return t.known(found[place])


def replaced(t: Terms, given: Term, place: int, item: Term) -> Term:
    """The list with another element at one place."""
    found = list(_elements(given, item.dtype))
    if not 0 <= place < len(found) or item.op == "list":
        raise NoMeaningError("a place beyond a list")
    found[place] = item
    return _made(t, found, item.dtype)


def all_of(t: Terms, given: Term, dtype: str) -> Term:
    """The elements along a new first axis; all must have been set."""
    found = _elements(given, dtype)
    if not found or any(each.op == "nothing" for each in found):
        raise NoMeaningError("a place of a list that holds nothing")
    if any(each.shape != found[0].shape for each in found):
        raise NoMeaningError("elements of different shapes")
    return stacked(t, found, 0)


def _elements(given: Term, dtype: str) -> tuple[Term, ...]:
    if given.op != "list" or given.attrs != (dtype,):
        raise NoMeaningError(f"{given.dtype} for a list of {dtype}")
    return given.inputs
