"""Attributes and inputs of the reference's node, translated to the candidate's parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.diagnose.parameters import attributes, current, parameter_places, stated
from isomorph.match.attributes import SAME_MEANING
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node

# PyTorch cuts along one axis, and has one number for each of these.
_OF_SLICES = {"dim": "axes", "start": "starts", "end": "ends", "step": "steps"}


def stated_attributes(
    context: FaultContext, node: Node, *, stored: bool = False
) -> Iterator[tuple[str, Any]]:
    """Parameters of this node with the counterpart's values, where they differ.

    With ``stored`` also those that the counterpart reads as constants.
    """
    same = [each for each in context.counterparts if each.op == node.op]
    others = [each for each in context.counterparts if each.op != node.op]
    for counterpart in (*reversed(same), *reversed(others)):
        known = (stated if stored else attributes)(context.reference, counterpart)
        for name, value in known.items():
            for cand_name, meant in _meanings(name, value, context.candidate, node):
                now = current(context, node, cand_name)
                if now is not None and meant is not None:
                    fitted = _fitted(meant, now)
                    if fitted is not None and not equal(now, fitted):
                        yield cand_name, fitted


def stated_inputs(context: FaultContext, node: Node) -> Iterator[tuple[str, Any]]:
    """Parameters that the counterpart reads as inputs, with its values where they differ."""
    for counterpart in reversed(context.counterparts):
        if counterpart.op != node.op:
            continue
        for name, place in parameter_places(context.reference, counterpart).items():
            given, cand_input = counterpart.input(place), node.input(place)
            constant, now = context.reference.constants.get(given), current(context, node, name)
            if constant is not None and constant.values is not None and now is not None:
                value = constant.values if isinstance(now, (tuple, list)) else constant.values[0]
                if value != now:
                    yield name, value
            elif constant is not None and cand_input in context.candidate.constants:
                # A description has the values of small constants only.
                right, wrong = (
                    context.constant(context.reference, given),
                    context.constant(context.candidate, cand_input),
                )
                if right is not None and wrong is not None and not np.array_equal(right, wrong):
                    yield name, right


def _meanings(
    name: str,
    value: Any,  # noqa: ANN401
    graph: Graph,
    node: Node,
) -> Iterator[tuple[str, Any]]:
    if name == "align_corners":
        modes = ("align_corners",) if value else ("half_pixel", "pytorch_half_pixel")
        yield from (("coordinate_transformation_mode", mode) for mode in modes)
        yield "align_corners", int(bool(value))
    elif name in {"min_val", "max_val"}:
        yield name[:3], value
    elif name == "dim" and isinstance(value, (tuple, list)):
        yield "axes", value
    elif name == "ord":
        yield "p", value
    elif name == "index":
        yield "indices", value
    elif node.op == "Slice" and name in _OF_SLICES:
        yield _OF_SLICES[name], value
    else:
        word = SAME_MEANING.get(name, name)
        yield word, value
        own = operator_tables(graph.framework).option_names.get(word, ())
        yield from _spatial(own, value)
        if name in node.attributes and SAME_MEANING.get(name, name) != name:
            yield name, value
        # The candidate may be the one with another framework's word.
        synonyms = [
            w for w, meant in SAME_MEANING.items() if meant == word and w not in {word, name}
        ]
        yield from ((each, value) for each in synonyms if each in node.attributes)


def _spatial(words: tuple[str, ...], value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """One value for each word; of four, batch and channels stand first and last."""
    if len(words) == 1 or isinstance(value, (int, float)):
        yield from ((word, value) for word in words)
    elif isinstance(value, (tuple, list)) and len(value) in (len(words), len(words) + 2):
        inner = value if len(value) == len(words) else value[1:-1]
        yield from zip(words, inner, strict=True)


def _fitted(value: Any, now: Any) -> Any:  # noqa: ANN401
    """The value in the form in which this node holds it; None where it has no such form."""
    if isinstance(now, (tuple, list)):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return (value,) * len(now)
        if not isinstance(value, (tuple, list)):
            return None
        if len(value) == len(now) + 2 and value[0] == 1:
            # TensorFlow writes batch and channels, too: they stand around or before the others.
            return tuple(value[1:-1] if value[-1] == 1 else value[2:])
        # ONNX writes the begin and end of every axis; others write each axis once.
        return tuple(value) * 2 if len(now) == 2 * len(value) else tuple(value)
    if isinstance(value, (tuple, list)):
        return _fitted(value[0], now) if len(value) == 1 else None
    if isinstance(now, str) != isinstance(value, str):
        return None
    if isinstance(now, bool) or (isinstance(now, int) and isinstance(value, bool)):
        return int(value)
    return float(value) if isinstance(now, float) else value


def equal(cand: Any, ref: Any) -> bool:  # noqa: ANN401
    """Whether two parameters are the same but for storage in float32."""
    if isinstance(cand, (tuple, list)) and isinstance(ref, (tuple, list)):
        return len(cand) == len(ref) and all(map(equal, cand, ref))
    if isinstance(cand, (int, float)) and isinstance(ref, (int, float)):
        return abs(float(cand) - float(ref)) <= 2.0**-23 * abs(float(ref))
    return bool(cand == ref)
