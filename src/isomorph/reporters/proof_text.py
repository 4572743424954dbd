"""A proof as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.proof import OpenReason, Proof, Reason, Standing

_MOST = 12

_WORDS = {
    Reason.NO_MEANING: "this use of the operator has no meaning in proofs",
    Reason.UNEXPLAINED_CONSTANT: "a constant is none of the reference's, nor computed from them",
    Reason.DIFFERENT_IDENTITY: "different, or equal by an identity that is not known here",
    Reason.DOMAIN: "equal only where a divisor, root or logarithm of one side is defined",
    Reason.INTERFACE: "the interface differs",
    Reason.MEASURED: "float64 values on a sample differ by more than rounded constants explain",
}


def lines(proof: Proof) -> Iterator[str]:
    """The headline, the open outputs with the node that ended each, and the assumptions."""
    proven = [each for each in proof.outputs if each.standing is Standing.PROVEN]
    shapes = ", ".join(f"{name} {list(shape)}" for name, shape in proof.assumptions.shapes.items())
    if proof.whole:
        yield f"EQUIVALENT for every input of these shapes: {shapes or 'no inputs'}"
    else:
        yield f"OPEN: {len(proven)} of {len(proof.outputs)} outputs are proven ({shapes})"
        yield "  not proven does not mean different: isomorph check measures"
    own = [each for each in proof.nodes if each.side == "reference"]
    count = sum(each.standing is Standing.PROVEN for each in own)
    yield f"  nodes        {count} of {len(own)} of the reference are proven"
    for each in [each for each in proof.outputs if each.standing is Standing.OPEN][:_MOST]:
        yield f"  open         {each.reference}: {_why(each.open)}"
    yield "  assumptions  real arithmetic, finite inputs, numbers of operators in declared types"
    rounding = proof.assumptions.largest_rounding
    if rounding:
        yield f"               constants equal up to {rounding:.2g} of their values:"
        for entry in proof.assumptions.rerounded[:_MOST]:
            yield f"               {entry.constant} = {entry.expression} ({entry.relative:.1e})"
    yield f"  chance       of a wrong equality: {proof.chance:.1e} (seed {proof.seed})"


def _why(reason: OpenReason | None) -> str:
    if reason is None:
        return "unknown"
    place = f" at {reason.node} ({reason.op})" if reason.node else ""
    details = f": {reason.details}" if reason.details else ""
    return f"{_WORDS[reason.reason]}{place}{details}"
