"""What TFLite's operators that move data mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof import spelled_movement as move
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _reshape(call: Call) -> Sequence[Term]:
    """A second input decides before the option."""
    call.only(1, 2)
    sizes = call.attr("new_shape", ())
    sizes = call.ints(1) if call.optional(1) is not None else tuple(int(each) for each in sizes)
    if 0 in sizes:
        raise NoMeaningError("a size of zero, which is a scalar in old files")
    return (call.terms.reshape(call.x(), sizes),)


def _squeeze(call: Call) -> Sequence[Term]:
    call.only(1)
    return (move.squeezed(call.terms, call.x(), call.needs("squeeze_dims")),)


def _expand_dims(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.unsqueezed(call.terms, call.x(), call.ints(1)[0]),)


def _transpose(call: Call) -> Sequence[Term]:
    call.only(2)
    return (call.terms.transpose(call.x(), call.ints(1)),)


def _concatenation(call: Call) -> Sequence[Term]:
    call.refuse("fused_activation_function", "NONE")
    return (call.terms.concat(call.all(), int(call.needs("axis"))),)


def _pack(call: Call) -> Sequence[Term]:
    call.refuse("values_count", call.count)
    return (move.stacked(call.terms, call.all(), int(call.needs("axis"))),)


def _unpack(call: Call) -> Sequence[Term]:
    call.only(1)
    call.refuse("num", len(call.node.outputs))
    return move.unstacked(call.terms, call.x(), int(call.needs("axis")))


def _split(call: Call) -> Sequence[Term]:
    call.only(2)
    count = int(call.needs("num_splits"))
    return move.equal_parts(call.terms, call.x(1), call.ints(0)[0], count)


def _split_by_sizes(call: Call) -> Sequence[Term]:
    call.only(3)
    call.refuse("num_splits", len(call.node.outputs))
    return move.parts(call.terms, call.x(0), call.ints(2)[0], call.ints(1))


def _slice(call: Call) -> Sequence[Term]:
    call.only(3)
    return (move.part(call.terms, call.x(), call.ints(1), call.ints(2)),)


def _strided_slice(call: Call) -> Sequence[Term]:
    call.only(4)
    call.refuse("offset", False)
    words = {"begins": "begin", "ends": "end", "ellipsis": "ellipsis", "news": "new_axis",
             "shrinks": "shrink_axis"}  # fmt: skip
    masks = {key: int(call.needs(f"{word}_mask")) for key, word in words.items()}
    cut = move.StridedSlice(begin=call.ints(1), end=call.ints(2), strides=call.ints(3), **masks)
    return (cut.of(call.terms, call.x()),)


def _pad(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    return (move.bordered(call.terms, call.x(), call.value(1), call.optional(2)),)


def _mirror_pad(call: Call) -> Sequence[Term]:
    call.only(2)
    modes = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    return (move.mirrored(call.terms, call.x(), call.value(1), modes[call.needs("mode")]),)


def _gather(call: Call) -> Sequence[Term]:
    call.only(2)
    call.refuse("batch_dims", 0)
    return (move.picked(call.terms, call.x(0), call.x(1), int(call.needs("axis"))),)


def _embedding(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.picked(call.terms, call.x(1), call.x(0), 0),)


def _tile(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.repeated(call.terms, call.x(), call.ints(1)),)


def _broadcast(call: Call) -> Sequence[Term]:
    call.only(2)
    return (call.terms.expand(call.x(), call.ints(1)),)


def _depth_to_space(call: Call) -> Sequence[Term]:
    call.only(1)
    return (move.depth_to_space(call.terms, call.x(), int(call.needs("block_size"))),)


def _space_to_depth(call: Call) -> Sequence[Term]:
    call.only(1)
    return (move.space_to_depth(call.terms, call.x(), int(call.needs("block_size"))),)


def _space_to_batch(call: Call) -> Sequence[Term]:
    call.only(3)
    return (move.space_to_batch(call.terms, call.x(), call.ints(1), call.value(2)),)


def _batch_to_space(call: Call) -> Sequence[Term]:
    call.only(3)
    return (move.batch_to_space(call.terms, call.x(), call.ints(1), call.value(2)),)


def _reverse(call: Call) -> Sequence[Term]:
    call.only(2)
    t, x = call.terms, call.x()
    for place in {t.axis(x, axis) for axis in call.ints(1)}:
        x = t.slice(x, place, x.shape[place] - 1, x.shape[place], -1)
    return (x,)


MOVEMENT: dict[str, Meaning] = {
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand_dims,
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_by_sizes,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "PAD": _pad,
    "PADV2": _pad,
    "MIRROR_PAD": _mirror_pad,
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": _embedding,
    "TILE": _tile,
    "BROADCAST_TO": _broadcast,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "REVERSE_V2": _reverse,
}
