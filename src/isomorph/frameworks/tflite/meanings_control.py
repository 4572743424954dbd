"""What TFLite's branches and loops mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isomorph.proof import shared_sizes as sizes
from isomorph.proof.calls import Call, Meaning
from isomorph.proof.spelled_control import branch, while_loop
from isomorph.proof.term import Term


def _while(call: Call) -> Sequence[Term]:
    condition, body = call.body("cond"), call.body("body")
    return while_loop(call.terms, call.all(), condition.run, body.run)


def _if(call: Call) -> Sequence[Term]:
    then, other = call.body("then"), call.body("else")
    return branch(call.terms, call.x(0), then.run, other.run, call.all()[1:])


def _shape(call: Call) -> Sequence[Term]:
    call.only(1)
    call.refuse("out_type", "int32")
    return (call.terms.stated(np.array(call.x().shape, object), "int32"),)


CONTROL: dict[str, Meaning] = {"WHILE": _while, "IF": _if}
IN_BODIES: dict[str, Meaning] = {
    "SHAPE": _shape,
    "FILL": sizes.filled,
    "ZEROS_LIKE": sizes.filled_alike(0),
    "REDUCE_PROD": sizes.product,
}
"""What follows from shapes, where no value was computed beforehand."""
