"""What TensorFlow's operators that move data mean, for proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isomorph.proof import spelled_movement as move
from isomorph.proof.shared_meanings import identity
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning
    from isomorph.proof.terms import Terms


def _reshape(call: Call) -> Sequence[Term]:
    call.only(2)
    return (call.terms.reshape(call.x(), call.ints(1)),)


def _squeeze(call: Call) -> Sequence[Term]:
    call.only(1)
    call.derived("axes")
    return (move.squeezed(call.terms, call.x(), call.needs("squeeze_dims")),)


def _expand_dims(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("axes")
    return (move.unsqueezed(call.terms, call.x(), call.ints(1)[0]),)


def _transpose(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("perm")
    return (call.terms.transpose(call.x(), call.ints(1)),)


def _concat(call: Call) -> Sequence[Term]:
    call.derived("axis")
    return (call.terms.concat(call.all()[:-1], call.ints(call.count - 1)[0]),)


def _pack(call: Call) -> Sequence[Term]:
    return (move.stacked(call.terms, call.all(), int(call.needs("axis"))),)


def _unpack(call: Call) -> Sequence[Term]:
    call.only(1)
    call.refuse("num", len(call.node.outputs))
    return move.unstacked(call.terms, call.x(), int(call.needs("axis")))


def _split(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("axis")
    count = int(call.needs("num_split"))
    return move.equal_parts(call.terms, call.x(1), call.ints(0)[0], count)


def _split_by_sizes(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("axis", "split")
    call.refuse("num_split", len(call.node.outputs))
    return move.parts(call.terms, call.x(0), call.ints(2)[0], call.ints(1))


def _slice(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("begin", "size")
    return (move.part(call.terms, call.x(), call.ints(1), call.ints(2)),)


def _strided_slice(call: Call) -> Sequence[Term]:
    call.only(4)
    call.derived("begin", "end", "strides")
    words = {"begins": "begin", "ends": "end", "ellipsis": "ellipsis", "news": "new_axis",
             "shrinks": "shrink_axis"}  # fmt: skip
    masks = {key: int(call.needs(f"{word}_mask")) for key, word in words.items()}
    cut = move.StridedSlice(begin=call.ints(1), end=call.ints(2), strides=call.ints(3), **masks)
    return (cut.of(call.terms, call.x()),)


def _pad(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    call.derived("paddings", "value")
    return (move.bordered(call.terms, call.x(), call.value(1), call.optional(2)),)


def _mirror_pad(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("paddings")
    modes = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    return (move.mirrored(call.terms, call.x(), call.value(1), modes[call.needs("mode")]),)


def _gather(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("axis")
    call.refuse("batch_dims", 0)
    return (move.picked(call.terms, call.x(0), call.x(1), call.ints(2)[0]),)


def _tile(call: Call) -> Sequence[Term]:
    call.only(2)
    return (move.repeated(call.terms, call.x(), call.ints(1)),)


def _broadcast(call: Call) -> Sequence[Term]:
    call.only(2)
    return (call.terms.expand(call.x(), call.ints(1)),)


def _blocks(function: Callable[[Terms, Term, int], Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        call.refuse("data_format", "NHWC")
        return (function(call.terms, call.x(), int(call.needs("block_size"))),)

    return meaning


def _space_to_batch(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("paddings")
    return (move.space_to_batch(call.terms, call.x(), call.ints(1), call.value(2)),)


def _batch_to_space(call: Call) -> Sequence[Term]:
    call.only(3)
    call.derived("crops")
    return (move.batch_to_space(call.terms, call.x(), call.ints(1), call.value(2)),)


def _reverse(call: Call) -> Sequence[Term]:
    call.only(2)
    call.derived("axes")
    t, x = call.terms, call.x()
    for place in {t.axis(x, axis) for axis in call.ints(1)}:
        x = t.slice(x, place, x.shape[place] - 1, x.shape[place], -1)
    return (x,)


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
    "Squeeze": _squeeze,
    "ExpandDims": _expand_dims,
    "Transpose": _transpose,
    "ConcatV2": _concat,
    "Pack": _pack,
    "Unpack": _unpack,
    "Split": _split,
    "SplitV": _split_by_sizes,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "Pad": _pad,
    "PadV2": _pad,
    "MirrorPad": _mirror_pad,
    "GatherV2": _gather,
    "Tile": _tile,
    "BroadcastTo": _broadcast,
    "DepthToSpace": _blocks(move.depth_to_space),
    "SpaceToDepth": _blocks(move.space_to_depth),
    "SpaceToBatchND": _space_to_batch,
    "BatchToSpaceND": _batch_to_space,
    "ReverseV2": _reverse,
}
