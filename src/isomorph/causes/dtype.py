"""A value passes through a type that cannot hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.match.topology import Topology
from isomorph.measure.precision import QUANTIZED_OPS

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array

_CASTS = frozenset({"Cast", "CastLike"})
_ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "dtype.truncates": np.trunc, "dtype.rounds": np.rint, "dtype.rounds_down": np.floor,
    "dtype.rounds_up": np.ceil, "dtype.keeps_fraction": lambda values: values,
}  # fmt: skip


class Dtype:
    """Narrowing, overflow of an integer, truncation, integer against float division.

    Recognized where a cast, or a division in another type than the reference's, stands between
    right inputs and a wrong result; and by doing to the right values what that type would do to
    them: cut off the fraction, or wrap around at its largest number.
    """

    name = "dtype"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Yield a diagnosis if the faulty nodes change the type and the values are finite."""
        if not _finite(context):
            return
        divided = _divided(context)
        if divided is not None:
            yield divided
            return
        cand, ref = (
            _kinds(context.candidate, context.nodes),
            _kinds(context.reference, context.counterparts),
        )
        for op in sorted(cand.keys() & ref.keys()):
            if cand[op] != ref[op]:
                yield Diagnosis(
                    cause="dtype",
                    certainty=Certainty.VISIBLE,
                    summary=message("dtype.computed", op=op, now=cand[op], right=ref[op]),
                    fix=message("FIX.compute_type"),
                )
                return
        casts = [node for node in context.nodes if node.op in _CASTS]
        if casts:
            yield _rounded(context, casts) or _cast(context, casts)


def _cast(context: FaultContext, casts: Sequence[Node]) -> Diagnosis:
    # The integers of a quantizer stand for other numbers, and their range is no limit to those.
    plain = [node for node in context.nodes if node.op not in QUANTIZED_OPS]
    made = [node.outputs[0] for node in (*casts, *plain)]
    types = list(dict.fromkeys(_type(context, name) for name in made))
    observed = next((text for kind in types if (text := _done_by(context, kind)) is not None), None)
    observed = observed or next(
        (text for node in casts if (text := _beyond(context, node)) is not None), None
    )
    asked = experiment("dtype.fits", agrees=observed is not None, types=", ".join(types))
    return Diagnosis(
        cause="dtype",
        certainty=Certainty.CONFIRMED if observed else Certainty.VISIBLE,
        summary=observed or message("dtype.changed", types=", ".join(types)),
        evidence={"casts": [node.name for node in casts], "types": types},
        experiments=(asked,),
        fix=message("FIX.keep_type"),
        about=frozenset(types),
    )


def _rounded(context: FaultContext, casts: Sequence[Node]) -> Diagnosis | None:
    """A cast to integers that one side rounds otherwise than the other."""
    for node in casts:
        values = context.value(context.candidate, node.inputs[0])
        if values is None or values.dtype.kind != "f" or values.shape != context.right.shape:
            continue
        cand, ref = (
            _rounding(values.astype(np.float64), v) for v in (context.wrong, context.right)
        )
        if cand is not None and ref is not None and cand != ref:
            values_text = message("dtype.values")
            cand, ref = (message(each, values=values_text) for each in (cand, ref))
            text = message("dtype.cast", now=cand, right=ref)
            return _rounding_diagnosis(text, cand, ref)
    return None


def _done_by(context: FaultContext, kind: str) -> str | None:
    """What this type does to the right values, if that makes them the wrong ones."""
    try:
        dtype = np.dtype(kind)
    except TypeError:
        return None
    right, wrong = context.right.astype(np.float64), context.wrong.astype(np.float64)
    if dtype.kind not in "iu" or right.shape != wrong.shape or not np.isfinite(right).all():
        return None
    info = np.iinfo(dtype)
    whole = np.trunc(right)
    if np.any((whole < info.min) | (whole > info.max)):
        span = float(info.max) - float(info.min) + 1.0
        wrapped = (whole - float(info.min)) % span + float(info.min)
        if np.array_equal(wrapped, wrong):
            return message("dtype.wraps", dtype=kind)
        if np.array_equal(np.clip(whole, info.min, info.max), wrong):
            return message("dtype.clipped", dtype=kind)
        return message("dtype.range", dtype=kind)
    if np.array_equal(whole, wrong) and not np.array_equal(whole, right):
        return message("dtype.fraction", dtype=kind)
    return None


def _beyond(context: FaultContext, cast: Node) -> str | None:
    """Whether what goes into a cast is larger than its type can hold."""
    values = context.value(context.candidate, cast.inputs[0])
    kind = _type(context, cast.outputs[0])
    if values is None or not kind.startswith(("int", "uint")) or not values.size:
        return None
    info, wide = np.iinfo(np.dtype(kind)), values.astype(np.float64)
    if not np.isfinite(wide).all() or (wide.min() >= info.min and wide.max() <= info.max):
        return None
    return message("dtype.range", dtype=kind)


def _divided(context: FaultContext) -> Diagnosis | None:
    """A quotient that one side rounds otherwise than the other."""
    nodes = [node for node in context.nodes if node.op in {"Div", "Mod"}]
    division = next((node for node in nodes if node.op == "Div"), None)
    if division is None or len(division.inputs) < 2:
        return None
    values = [context.value(context.candidate, name) for name in division.inputs[:2]]
    if values[0] is None or values[1] is None:
        return None
    with np.errstate(all="ignore"):
        quotient = values[0].astype(np.float64) / values[1].astype(np.float64)
    if quotient.shape != context.right.shape or not np.isfinite(quotient).all():
        return None
    ref = _rounding(quotient, context.right)
    cand = _rounding(quotient, context.wrong)
    if cand is None or ref is None or cand == ref:
        return None
    cand, ref = (message(each, values=message("dtype.quotient")) for each in (cand, ref))
    return _rounding_diagnosis(message("dtype.division", now=cand, right=ref), cand, ref)


def _rounding_diagnosis(summary: str, cand: str, ref: str) -> Diagnosis:
    return Diagnosis(
        cause="dtype",
        certainty=Certainty.CONFIRMED,
        summary=summary,
        evidence={"candidate": cand, "reference": ref},
        experiments=(experiment("dtype.rounding", now=cand, right=ref),),
        fix=message("FIX.round_alike"),
    )


def _rounding(quotient: Array, result: Array) -> str | None:
    for name, way in _ROUNDINGS.items():
        if np.array_equal(way(quotient), result.astype(np.float64)):
            return name
    return None


def _kinds(graph: Graph, nodes: Sequence[Node]) -> dict[str, str]:
    """Whether each operator that computes does so on integers or on floats.

    Integers with a grid beside them stand for real numbers: they count as such.
    """
    live = Topology(graph).live
    real = {each.tensor for each in graph.quantization if each.scale}
    found = {}
    for node in nodes:
        read = [name for name in node.inputs if name in live and node.op not in _CASTS]
        types = {name: spec.dtype for name in read if (spec := graph.tensors.get(name)) is not None}
        whole = ["float" not in kind and name not in real for name, kind in types.items() if kind]
        # What is not declared may be a float: then integers beside it prove nothing.
        if whole and (len(whole) == len(read) or not all(whole)):
            # A shape or an index among the operands is no evidence about the arithmetic.
            found[node.op] = "integers" if all(whole) else "floats"
    return found


def _finite(context: FaultContext) -> bool:
    if context.wrong.dtype.kind != "f":
        return True
    return bool(np.isfinite(context.wrong).all() or not np.isfinite(context.right).all())


def _type(context: FaultContext, tensor: str) -> str:
    return context.candidate.declared_dtype(tensor) or message("dtype.unknown")
