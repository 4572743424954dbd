"""Which quantized tensor of one model was made from which of the other.

By name first; stored tensors by their digests or, where a reader is given, by the real numbers
behind their integers; the rest by what they are computed from: the same matched constants and
the same inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.quantized import dequantize
from isomorph.match.quantized_regions import QuantizedRegions
from isomorph.match.value_match import ways

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Quantization
    from isomorph.core.trace import Array

Reader = Callable[[str], "Array | None"]
"""Gives the value of a constant, or None where it cannot be had."""

_ON_INTEGERS = {"QGemm": "Gemm", "ConvInteger": "Conv", "MatMulInteger": "MatMul"}

_SAME_NUMBERS = 1e-6
"""Of the step: two scales that mean the same may be rounded differently."""


def matched(
    reference: Graph,
    candidate: Graph,
    *,
    reference_value: Reader | None = None,
    candidate_value: Reader | None = None,
) -> dict[str, str]:
    """The reference's quantized tensor for each of the candidate's that has one."""
    ref, cand = written(reference), written(candidate)
    pairs = {name: name for name in cand if name in ref}
    for digest in (_exact, _sorted):
        pairs |= _unique(
            {n: digest(reference.constants[n]) for n in _stored(reference, ref, pairs.values())},
            {n: digest(candidate.constants[n]) for n in _stored(candidate, cand, pairs)},
        )
    if reference_value is not None and candidate_value is not None:
        for name in list(_stored(candidate, cand, pairs)):
            twin = _by_value(
                _real(candidate_value, cand[name]),
                {
                    other: _real(reference_value, ref[other])
                    for other in _stored(reference, ref, pairs.values())
                    if _size(reference, other) == _size(candidate, name)
                },
                step=max(cand[name].scale, default=0.0),
            )
            if twin is not None:
                pairs[name] = twin
    while found := _unique(
        _roots(reference, ref, {twin: twin for twin in pairs.values()}),
        _roots(candidate, cand, pairs),
    ):
        pairs |= found
    return pairs


def written(graph: Graph) -> dict[str, Quantization]:
    """The entry of each quantized tensor's writer; those of disagreeing readers stand behind it."""
    return {entry.tensor: entry for entry in reversed(graph.quantization) if entry.scale}


def changed(reference: Quantization, candidate: Quantization) -> tuple[str, ...]:
    """The parameters in which two entries differ, by the names of their fields."""
    found = [
        field
        for field in ("dtype", "axis")
        if getattr(reference, field) != getattr(candidate, field)
    ]
    # One type's zero point is another number on the other type's grid.
    fields = ("scale",) if "dtype" in found else ("scale", "zero_point")
    for field in fields:
        left, right = (np.asarray(getattr(each, field), float) for each in (reference, candidate))
        if left.size != right.size or not np.allclose(left, right, rtol=_SAME_NUMBERS, atol=0):
            found.append(field)
    return tuple(found)


def real_values(integers: Array, entry: Quantization) -> Array | None:
    """The numbers that stored integers stand for; None where the scales do not fit the shape."""
    scale, zero = np.asarray(entry.scale, float), np.asarray(entry.zero_point)
    if scale.size > 1 and not along_axis(integers.shape, entry.axis, scale.size):
        return None
    return dequantize(integers, scale, zero if zero.size else None, entry.axis)


def along_axis(shape: tuple[int, ...], axis: int | None, count: int) -> bool:
    """Whether there is one value for each slice of an axis that the tensor has."""
    return axis is not None and -len(shape) <= axis < len(shape) and shape[axis] == count


def _exact(constant: Constant) -> str:
    return constant.digest


def _sorted(constant: Constant) -> str:
    return constant.value_digest


def _stored(graph: Graph, entries: Mapping[str, object], taken: Iterable[str]) -> Iterator[str]:
    done = set(taken)
    return (name for name in entries if name in graph.constants and name not in done)


def _size(graph: Graph, name: str) -> int:
    return int(np.prod(graph.constants[name].shape))


def _unique(ref: Mapping[str, Hashable], cand: Mapping[str, Hashable]) -> dict[str, str]:
    """Pairs of equal keys that occur once on either side."""
    once = [
        {key for key, count in Counter(side.values()).items() if count == 1} for side in (ref, cand)
    ]
    names = {key: name for name, key in ref.items() if key in once[0]}
    return {name: names[key] for name, key in cand.items() if key in once[1] and key in names}


def _real(read: Reader, entry: Quantization) -> Array | None:
    value = read(entry.tensor)
    return None if value is None else real_values(value, entry)


def _by_value(value: Array | None, others: Mapping[str, Array | None], step: float) -> str | None:
    """The one whose every element is within a step of ours, in some arrangement of the axes."""
    if value is None:
        return None
    for name, other in others.items():
        if other is not None and any(
            np.max(np.abs(moved.array(other) - value), initial=0.0) <= step
            for moved in ways(other, value.shape)
        ):
            return name
    return None


def _roots(
    graph: Graph, entries: Mapping[str, object], pairs: Mapping[str, str]
) -> dict[str, Hashable]:
    """What each unmatched activation is computed from, in the reference's words.

    Left out where something it is computed from has no counterpart yet.
    """
    regions = QuantizedRegions(graph, frozenset(entries))
    places = {spec.name: place for place, spec in enumerate(graph.inputs)}
    known: dict[str, Hashable] = {**places, **pairs}
    found: dict[str, Hashable] = {}
    for name in entries:
        if name in graph.constants or name in pairs:
            continue
        region = regions.of(name)
        constants = frozenset(pairs[each] for each in region.constants if each in pairs)
        feeds = [known.get(each) for each in region.feeds]
        if feeds and None not in feeds:
            found[name] = (constants, frozenset(feeds))
    return found


def in_floats(op: str) -> str:
    """The operator that one on integers stands for; of most the name says it."""
    return _ON_INTEGERS.get(op, op.removeprefix("QLinear"))
