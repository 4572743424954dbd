"""What the branches and loops of exported programs mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.proof.bodies import Body
from isomorph.proof.calls import Call, Meaning
from isomorph.proof.spelled_control import branch, while_loop
from isomorph.proof.term import NoMeaningError, Term


def _two(call: Call) -> tuple[Body, Body]:
    """Both bodies, in the order of the arguments; one that serves twice is listed once."""
    if len(call.bodies) != 2:
        raise NoMeaningError(f"{len(call.bodies)} bodies")
    first, second = call.bodies.values()
    return first, second


def _cond(call: Call) -> Sequence[Term]:
    then, other = _two(call)
    return branch(call.terms, call.x(0), then.run, other.run, call.all()[1:])


def _while_loop(call: Call) -> Sequence[Term]:
    # Of the inputs that no round changes only an empty list is stated as an attribute.
    call.refuse("argument_3", ())
    condition, body = _two(call)
    count = len(body.graph.outputs)
    given = call.all()
    return while_loop(call.terms, given[:count], condition.run, body.run, given[count:])


CONTROL: dict[str, Meaning] = {
    "higher_order.cond": _cond,
    "higher_order.while_loop": _while_loop,
}
