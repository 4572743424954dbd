"""What TFLite's operators that move data mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof import shared_movement as shared
from isomorph.proof import spelled_movement as move
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _reshape(call: Call) -> Sequence[Term]:
    """A second input decides before the option, if it is a vector."""
    call.only(1, 2)
    if call.optional(1) is not None and call.x(1).rank != 1:
        raise NoMeaningError("a shape that is no vector")
    sizes = call.attr("new_shape", ())
    sizes = call.ints(1) if call.optional(1) is not None else tuple(int(each) for each in sizes)
    if 0 in sizes:
        raise NoMeaningError("a size of zero, which is a scalar in old files")
    return (call.terms.reshape(call.x(), sizes),)


def _concatenation(call: Call) -> Sequence[Term]:
    call.refuse("fused_activation_function", "NONE")
    return (call.terms.concat(call.all(), int(call.needs("axis"))),)


def _gather(call: Call) -> Sequence[Term]:
    call.only(2)
    call.refuse("batch_dims", 0)
    return (move.picked(call.terms, call.x(0), call.x(1), int(call.needs("axis"))),)


def _embedding(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.picked(call.terms, call.x(1), call.x(0), 0),)


MOVEMENT: dict[str, Meaning] = {
    "RESHAPE": _reshape,
    "SQUEEZE": shared.squeeze,
    "EXPAND_DIMS": shared.expand_dims,
    "TRANSPOSE": shared.transpose,
    "CONCATENATION": _concatenation,
    "PACK": shared.pack,
    "UNPACK": shared.unpack,
    "SPLIT": shared.split("num_splits"),
    "SPLIT_V": shared.split_by_sizes("num_splits"),
    "SLICE": shared.sliced,
    "STRIDED_SLICE": shared.strided_slice,
    "PAD": shared.pad,
    "PADV2": shared.pad,
    "MIRROR_PAD": shared.mirror_pad,
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": _embedding,
    "TILE": shared.tile,
    "BROADCAST_TO": shared.broadcast,
    "DEPTH_TO_SPACE": shared.blocks(move.depth_to_space),
    "SPACE_TO_DEPTH": shared.blocks(move.space_to_depth),
    "SPACE_TO_BATCH_ND": shared.space_to_batch,
    "BATCH_TO_SPACE_ND": shared.batch_to_space,
    "REVERSE_V2": shared.reverse,
}
