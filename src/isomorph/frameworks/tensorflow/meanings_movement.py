"""What TensorFlow's operators that move data mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof import shared_movement as shared
from isomorph.proof import spelled_movement as move
from isomorph.proof.shared_meanings import identity
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _reshape(call: Call) -> Sequence[Term]:
    call.only(2)
    return (call.terms.reshape(call.x(), call.ints(1)),)


def _concat(call: Call) -> Sequence[Term]:
    call.derived("axis")
    return (call.terms.concat(call.all()[:-1], call.ints(call.count - 1)[0]),)


def _gather(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("axis")
    call.refuse("batch_dims", 0)
    return (move.picked(call.terms, call.x(0), call.x(1), call.ints(2)[0]),)


def _same_each(call: Call) -> Sequence[Term]:
    return call.all()


def _ensured(call: Call) -> Sequence[Term]:
    """The tensor itself, whose shape must be as stated."""
    call.only(1)
    stated, shape = call.needs("shape"), call.x().shape
    if stated is not None and (
        len(stated) != len(shape)
        or any(size not in (None, known) for size, known in zip(stated, shape, strict=True))
    ):
        raise NoMeaningError("a shape that does not fit")
    return (call.x(),)


MOVEMENT: dict[str, Meaning] = {
    **dict.fromkeys(("Identity", "StopGradient", "PreventGradient", "Snapshot"), identity),
    "IdentityN": _same_each,
    "EnsureShape": _ensured,
    "Reshape": _reshape,
    "Squeeze": shared.squeeze,
    "ExpandDims": shared.expand_dims,
    "Transpose": shared.transpose,
    "ConcatV2": _concat,
    "Pack": shared.pack,
    "Unpack": shared.unpack,
    "Split": shared.split("num_split"),
    "SplitV": shared.split_by_sizes("num_split"),
    "Slice": shared.sliced,
    "StridedSlice": shared.strided_slice,
    "Pad": shared.pad,
    "PadV2": shared.pad,
    "MirrorPad": shared.mirror_pad,
    "GatherV2": _gather,
    "Tile": shared.tile,
    "BroadcastTo": shared.broadcast,
    "DepthToSpace": shared.blocks(move.depth_to_space),
    "SpaceToDepth": shared.blocks(move.space_to_depth),
    "SpaceToBatchND": shared.space_to_batch,
    "BatchToSpaceND": shared.batch_to_space,
    "ReverseV2": shared.reverse,
}
