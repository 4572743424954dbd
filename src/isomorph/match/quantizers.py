"""Match the quantized tensors of two models.

By name first; constants by their digests or, where a reader is given, by the real values of their
integers; the others by what they are computed from: the same matched constants and inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import SAME_SCALE
from isomorph.match.quantized_regions import QuantizedRegions
from isomorph.match.value_match import rearrangements
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Quantization
    from isomorph.core.trace import Array

Reader = Callable[[str], "Array | None"]
"""Returns the value of a constant, or None where it cannot be read."""

_ON_INTEGERS = {"QGemm": "Gemm", "ConvInteger": "Conv", "MatMulInteger": "MatMul"}


def match_quantized_tensors(
    reference: Graph,
    candidate: Graph,
    *,
    reference_value: Reader | None = None,
    candidate_value: Reader | None = None,
) -> dict[str, str]:
    """Return the reference's quantized tensor for each of the candidate's that has one."""
    ref, cand = quantization_by_tensor(reference), quantization_by_tensor(candidate)
    pairs = {name: name for name in cand if name in ref}
    for digest in (_exact, _sorted):
        pairs |= _unique(
            {n: digest(reference.constants[n]) for n in _stored(reference, ref, pairs.values())},
            {n: digest(candidate.constants[n]) for n in _stored(candidate, cand, pairs)},
        )
    if reference_value is not None and candidate_value is not None:
        for name in list(_stored(candidate, cand, pairs)):
            counterpart = _by_value(
                _real(candidate_value, cand[name]),
                {
                    other: _real(reference_value, ref[other])
                    for other in _stored(reference, ref, pairs.values())
                    if _size(reference, other) == _size(candidate, name)
                },
                step=max(cand[name].scale, default=0.0),
            )
            if counterpart is not None:
                pairs[name] = counterpart
    while found := _unique(
        _roots(reference, ref, {counterpart: counterpart for counterpart in pairs.values()}),
        _roots(candidate, cand, pairs),
    ):
        pairs |= found
    return pairs


def quantization_by_tensor(graph: Graph) -> dict[str, Quantization]:
    """Return the quantization of each tensor as its writer states it; readers may disagree."""
    return {entry.tensor: entry for entry in reversed(graph.quantization) if entry.scale}


def changed_parameters(reference: Quantization, candidate: Quantization) -> tuple[str, ...]:
    """Return the names of the parameters in which two quantizations differ."""
    found = [
        field
        for field in ("dtype", "axis", "block")
        if getattr(reference, field) != getattr(candidate, field)
    ]
    # The same zero point is another integer in another type.
    fields = ("scale",) if "dtype" in found else ("scale", "zero_point")
    for field in fields:
        left, right = (np.asarray(getattr(each, field), float) for each in (reference, candidate))
        if left.size != right.size or not np.allclose(left, right, rtol=SAME_SCALE, atol=0):
            found.append(field)
    return tuple(found)


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
    """Pair the names whose keys occur exactly once on either side."""
    once = [
        {key for key, count in Counter(side.values()).items() if count == 1} for side in (ref, cand)
    ]
    names = {key: name for name, key in ref.items() if key in once[0]}
    return {name: names[key] for name, key in cand.items() if key in once[1] and key in names}


def _real(read: Reader, entry: Quantization) -> Array | None:
    value = read(entry.tensor)
    return None if value is None else real_values(value, entry)


def _by_value(value: Array | None, others: Mapping[str, Array | None], step: float) -> str | None:
    """Return the constant whose elements are all within ``step``, in any arrangement of axes."""
    if value is None:
        return None
    for name, other in others.items():
        if other is not None and any(
            np.max(np.abs(moved.array(other) - value), initial=0.0) <= step
            for moved in rearrangements(other, value.shape)
        ):
            return name
    return None


def _roots(
    graph: Graph, entries: Mapping[str, object], pairs: Mapping[str, str]
) -> dict[str, Hashable]:
    """Return what each unmatched activation is computed from, by the reference's names.

    An activation is left out where something it is computed from has no counterpart yet.
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


def float_operator(op: str) -> str:
    """Return the float operator of an integer operator: ``Conv`` for ``QLinearConv``."""
    return _ON_INTEGERS.get(op, op.removeprefix("QLinear"))
