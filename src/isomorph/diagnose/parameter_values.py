"""The small space of meaningful values of a parameter that is a word, a flag, an axis or a pad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from isomorph.core.diagnosis_limits import LARGEST_STEP, PARAMETER_COMBINATIONS
from isomorph.diagnose.parameters import attributes, current, parameter_places
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node

_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Resize": {
        "coordinate_transformation_mode": (
            "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
            "half_pixel_symmetric", "tf_half_pixel_for_nn",
        ),
        "nearest_mode": ("floor", "round_prefer_floor", "round_prefer_ceil", "ceil"),
        "mode": ("nearest", "linear", "cubic"),
    },
    "Pad": {"mode": ("constant", "reflect", "edge", "wrap")},
    "Gelu": {"approximate": ("none", "tanh")},
    "DepthToSpace": {"mode": ("DCR", "CRD")},
    "GridSample": {
        "mode": ("bilinear", "linear", "nearest", "bicubic", "cubic"),
        "padding_mode": ("zeros", "border", "reflection"),
    },
    "RoiAlign": {
        "mode": ("avg", "max"),
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
    },
    "ScatterElements": {"reduction": ("none", "add", "mul", "max", "min")},
    "ScatterND": {"reduction": ("none", "add", "mul", "max", "min")},
    "BitShift": {"direction": ("LEFT", "RIGHT")},
    "Upsample": {"mode": ("nearest", "linear")},
}  # fmt: skip
_ACTIVATIONS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "LSTM": (("Sigmoid", "Tanh", "Tanh"),),
    "GRU": (("Sigmoid", "Tanh"),),
    "RNN": (("Tanh",), ("Relu",)),
}
"""The default activations of a recurrent operator, for one direction."""
_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_NUMBERS: Mapping[str, tuple[float, ...]] = {"cubic_coeff_a": (-0.75, -0.5), "beta": (1.0,)}
_FLAGS = frozenset(
    {"count_include_pad", "ceil_mode", "keepdims", "select_last_index", "fmod", "transA", "transB",
     "linear_before_reset", "exclusive", "reverse", "largest", "sorted", "exclude_outside",
     "antialias", "align_corners", "input_forget", "upper", "noop_with_empty_axes", "interleaved",
     "is_causal", "unidirectional", "training_mode", "across_channels", "normalize_variance",
     "storage_order", "allowzero", "transBatchA", "transBatchB", "saturate", "batch_dims",
     "keep_dims", "half_pixel_centers", "adj_x", "adj_y", "keep_num_dims"}
)  # fmt: skip
_STEPS = frozenset({"stride_w", "stride_h", "dilation_w_factor", "dilation_h_factor",
                    "filter_width", "filter_height"})  # fmt: skip
_BOUNDS = {"Slice": ("starts", "ends")}
_ENDLESS = 2**31 - 1
"""A slice boundary from here on means the end of the axis."""


def single_changes(context: FaultContext, node: Node, rank: int) -> Iterator[tuple[str, Any]]:
    """One parameter changed: every other meaningful value of it."""
    for name, values in alternatives(context, node, rank).items():
        yield from ((name, value) for value in values)


def combined_changes(context: FaultContext, node: Node, rank: int) -> Iterator[dict[str, Any]]:
    """Words and flags changed together, few before many."""
    small = {
        name: values
        for name, values in alternatives(context, node, rank).items()
        if name in _FLAGS
        or name in _NUMBERS
        or name in _STEPS
        or _words(context.candidate, node, name)
    }
    counted = 0
    for size in (2, 3):
        for names in combinations(small, size):
            for values in product(*(small[name] for name in names)):
                counted += 1
                if counted > PARAMETER_COMBINATIONS.most:
                    PARAMETER_COMBINATIONS.reached()
                    return
                yield dict(zip(names, values, strict=True))


def shifted_slices(context: FaultContext, node: Node) -> Iterator[dict[str, Any]]:
    """A slice that takes another part of the same length: the ones before and behind it."""
    own = operator_tables(context.candidate.framework).slice_bounds
    begin, end = own.get(node.native_op, _BOUNDS.get(node.op, ("", "")))
    first, last = current(context, node, begin), current(context, node, end)
    if not isinstance(first, (tuple, list)) or not isinstance(last, (tuple, list)):
        return
    # A file may state more starts than ends; what has no pair is not moved.
    for place, (start, stop) in enumerate(zip(first, last, strict=False)):
        length = stop if end == "size" else stop - start
        steps = range(-LARGEST_STEP, LARGEST_STEP + 1) if 0 < length < _ENDLESS else ()
        starts = dict.fromkeys(edge + by * length for edge in (start, 0) for by in steps)
        for moved in starts:
            if moved == start or (start >= 0) != (moved >= 0):
                continue
            found = {begin: (*first[:place], moved, *first[place + 1 :])}
            if end != "size":
                found[end] = (*last[:place], moved + length, *last[place + 1 :])
            yield found


def alternatives(context: FaultContext, node: Node, rank: int) -> dict[str, list[Any]]:
    """For each parameter of the node, the values that it could have instead."""
    graph = context.candidate
    names = dict.fromkeys([*attributes(graph, node), *parameter_places(graph, node)])
    found: dict[str, list[Any]] = {}
    for name in names:
        now = current(context, node, name)
        if now is None:
            continue
        values = [value for value in _values(graph, node, name, now, rank) if value != now]
        if values:
            found[name] = values
    for name in _WORDS.get(node.op, {}):
        # An operator of an old operator set may lack a parameter of later ones.
        if name not in names and not operator_tables(graph.framework).own_options:
            found[name] = list(_WORDS[node.op][name])
    return found


def _words(graph: Graph, node: Node, name: str) -> tuple[str, ...]:
    tables = operator_tables(graph.framework)
    if tables.own_options:
        return tables.option_values.get(name, ())
    return _WORDS.get(node.op, {}).get(name, ())


def _values(
    graph: Graph,
    node: Node,
    name: str,
    now: Any,  # noqa: ANN401
    rank: int,
) -> Sequence[Any]:
    words = _words(graph, node, name)
    if words:
        return words
    if name == "auto_pad":
        return _AUTO_PADS
    if name == "activations":
        usual = _ACTIVATIONS.get(node.op, ())
        return [each * max(1, len(now) // len(each)) for each in usual]
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name in _FLAGS:
        return (False, True) if isinstance(now, bool) else (0, 1)
    if name == "approximate" and isinstance(now, bool):
        return (False, True)
    if name in _STEPS:
        return range(1, max(int(now), LARGEST_STEP) + 2)
    if name == "axis":
        return [axis for axis in range(-1, rank) if axis != int(now) % rank] if rank else ()
    if name == "axes":
        return [axes for size in range(1, rank + 1) for axes in combinations(range(rank), size)]
    if name == "constant_value" and isinstance(now, float):
        return (0.0, float("-inf"))  # what sums and what maxima do not see
    if name == "k" and isinstance(now, int):
        return (now - 1, now + 1, 0)
    return _vectors(name, tuple(now)) if isinstance(now, (tuple, list)) else ()


def _vectors(name: str, now: tuple[Any, ...]) -> Sequence[Any]:
    if name == "pads":
        return _pads(tuple(int(each) for each in now))
    if name in ("paddings", "crops"):
        return _paddings(tuple(int(each) for each in now))
    if name.endswith("_directions"):
        return [(0,) * len(now), (1,) * len(now)]
    if name in ("strides", "dilations"):
        return [(step,) * len(now) for step in range(1, LARGEST_STEP + 1)]
    return ()


def _paddings(now: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Begin and end of every axis side by side: axes split otherwise, few first, or exchanged."""
    axes = range(0, len(now), 2)
    flipped = tuple(now[axis + side] for axis in axes for side in (1, 0))
    turned = tuple(now[(axis + 2) % len(now) + side] for axis in axes for side in (0, 1))
    totals = [now[axis] + now[axis + 1] for axis in axes]
    even = tuple(part for total in totals for part in (total // 2, total - total // 2))
    uneven = tuple(even[axis + side] for axis in axes for side in (1, 0))
    splits = [[(begin, total - begin) for begin in range(total + 1)] for total in totals]
    every = PARAMETER_COMBINATIONS.first(product(*splits))
    found = [tuple(part for split in each for part in split) for each in every]
    found.sort(key=lambda each: sum(one != other for one, other in zip(each, now, strict=True)))
    return list(dict.fromkeys([even, uneven, flipped, turned, *found]))


def _pads(now: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The same total on every axis split otherwise, even splits first; then uniform pads."""
    axes = len(now) // 2
    totals = [now[axis] + now[axis + axes] for axis in range(axes)]
    even = tuple(total // 2 for total in totals), tuple(t - t // 2 for t in totals)
    found = [(*even[0], *even[1]), (*even[1], *even[0])]
    if axes <= 3:
        for begin in product(*(range(total + 1) for total in totals)):
            end = [total - first for total, first in zip(totals, begin, strict=True)]
            found.append((*begin, *end))
    found += [(size,) * len(now) for size in range(LARGEST_STEP + 1)]
    return list(dict.fromkeys(found))
