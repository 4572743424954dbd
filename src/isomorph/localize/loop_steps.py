"""The inputs of a body in each iteration: the rules of branches and loops of all frameworks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array

Read = Callable[[str], "Array"]
"""Returns the value of a tensor of the enclosing graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One iteration: the key of the body and the values of its inputs."""

    key: str
    feeds: Mapping[str, Array]
    number: int = 0


def first_round(node: Node, read: Read) -> Round | None:
    """Return the first iteration of a node; None where its rule is not known."""
    rule = _RULES.get(_kind(node))
    return None if rule is None else rule(node, read)


def next_round(node: Node, before: Round, results: Mapping[str, Array], read: Read) -> Round | None:
    """Return the iteration after one that returned ``results``; None after the last."""
    kind, body = _kind(node), node.bodies[before.key]
    outputs = [results.get(spec.name) for spec in body.outputs]
    names = [spec.name for spec in body.inputs]
    feeds = dict(before.feeds)
    if kind == "while":
        # After the states a body may take what it reads from the enclosing graph.
        carried = dict(zip(names, outputs, strict=False))
    elif kind == "loop":
        going = outputs[0]
        if going is not None and not bool(np.asarray(going).reshape(-1)[0]):
            return None
        carried = {names[0]: np.asarray(before.number + 1, np.int64)}
        # After the states a body returns what is collected over the iterations.
        carried |= dict(zip(names[_before_states(node) :], outputs[1:], strict=False))
    elif kind == "scan":
        states = len(names) - int(node.attributes["num_scan_inputs"])
        carried = dict(zip(names[:states], outputs[:states], strict=True))
        rows = _rows(node, read, before.number + 1)
        if rows is None:
            return None
        carried |= dict(zip(names[states:], rows, strict=True))
    else:
        return None
    feeds.update({name: value for name, value in carried.items() if value is not None})
    return Round(key=before.key, feeds=feeds, number=before.number + 1)


def other_branches(node: Node, taken: Round) -> Iterator[Round]:
    """Yield the branches that were not taken, with the inputs of the one that was."""
    if _kind(node) != "if":
        return
    values = list(taken.feeds.values())
    for key, body in node.bodies.items():
        if key != taken.key:
            # Branches may take different numbers of inputs.
            feeds = dict(zip([spec.name for spec in body.inputs], values, strict=False))
            yield Round(key=key, feeds={**taken.feeds, **feeds} if not body.inputs else feeds)


def body_output(node: Node, key: str, tensor: str) -> str | None:
    """Return the tensor of the body that becomes an output of the node."""
    place = node.outputs.index(tensor) + (1 if _kind(node) == "loop" else 0)
    outputs = node.bodies[key].outputs
    return outputs[place].name if place < len(outputs) else None


def captured(body: Graph) -> list[str]:
    """Return what a body reads from the enclosing graph."""
    own = {spec.name for spec in body.inputs} | set(body.constants)
    found: dict[str, None] = {}
    for node in body.nodes:
        found.update((name, None) for name in Topology.reads(node) if name not in own)
        own |= set(node.outputs)
    found.update((spec.name, None) for spec in body.outputs if spec.name not in own)
    return list(found)


def prefix_of(node: Node, key: str) -> str:
    """Return the prefix of the names of a body's nodes: ``loop/body#0/``."""
    for inner in node.bodies[key].nodes:
        match = re.match(re.escape(node.name) + r"/[^/#]+#\d+/", inner.name)
        if match is not None:
            return match[0]
    return f"{node.name}/{key}#0/"


def _kind(node: Node) -> str:
    if node.op == "If":
        return "if"
    if node.op == "Loop":
        return "while" if any("cond" in key for key in node.bodies) else "loop"
    return node.op.lower()


def _if(node: Node, read: Read) -> Round | None:
    taken = bool(np.asarray(read(node.inputs[0])).reshape(-1)[0])
    # ONNX, TensorFlow and TFLite use then and else, PyTorch true and false.
    prefixes = ("then", "true") if taken else ("else", "false")
    keys = [key for key in node.bodies if key.startswith(prefixes)]
    return _given(node, keys[0], node.inputs[1:], read) if len(keys) == 1 else None


def _while(node: Node, read: Read) -> Round | None:
    keys = [key for key in node.bodies if "body" in key]
    return _given(node, keys[0], node.inputs, read) if len(keys) == 1 else None


def _loop(node: Node, read: Read) -> Round | None:
    (key,), first = node.bodies, _before_states(node)
    names = [spec.name for spec in node.bodies[key].inputs]
    started = (np.asarray(0, np.int64), np.asarray(True))
    start = dict(zip(names[:first], started[:first], strict=True))
    # A scripted loop has its states last; the number of iterations may be no input.
    initial = node.inputs[2:] if first > 1 else node.inputs[1 - len(names) :]
    if first == 1 and len(initial) < len(names) - 1:
        return None
    states = _given(node, key, initial, read, skip=first)
    return Round(key=key, feeds={**start, **states.feeds})


def _before_states(node: Node) -> int:
    """Count the inputs before the states: a counter and, except in TorchScript, a flag."""
    return 1 if "loop" in node.bodies else 2


def _scan(node: Node, read: Read) -> Round | None:
    if "scan_input_axes" not in node.attributes and len(node.inputs) != len(
        node.bodies["body"].inputs
    ):
        return None  # opset 8 has a batch of scans in one node
    states = len(node.inputs) - int(node.attributes["num_scan_inputs"])
    given = _given(node, "body", node.inputs[:states], read)
    rows = _rows(node, read, 0)
    if rows is None:
        return None
    names = [spec.name for spec in node.bodies["body"].inputs]
    return Round(key="body", feeds={**given.feeds, **dict(zip(names[states:], rows, strict=True))})


def _rows(node: Node, read: Read, number: int) -> list[Array] | None:
    """Return the slices that a scan takes in one iteration; None after the last."""
    count = int(node.attributes["num_scan_inputs"])
    axes = _padded(node.attributes.get("scan_input_axes"), count)
    backward = _padded(node.attributes.get("scan_input_directions"), count)
    rows = []
    for name, axis, reverse in zip(node.inputs[-count:], axes, backward, strict=True):
        value = read(name)
        if number >= value.shape[axis]:
            return None
        place = value.shape[axis] - 1 - number if reverse else number
        rows.append(np.take(value, place, axis=axis))
    return rows


def _padded(given: Sequence[int] | None, count: int) -> list[int]:
    values = list(given or ())
    return values + [0] * (count - len(values))


def _given(node: Node, key: str, names: Sequence[str], read: Read, *, skip: int = 0) -> Round:
    """Feed the inputs of a body with these tensors, in order."""
    body = node.bodies[key]
    taken = [spec.name for spec in body.inputs][skip:]
    # After its inputs a node may list what its bodies read from the enclosing graph.
    feeds = {own: read(name) for own, name in zip(taken, names, strict=False) if name}
    return Round(key=key, feeds=feeds)


_RULES: dict[str, Callable[[Node, Read], Round | None]] = {
    "if": _if,
    "while": _while,
    "loop": _loop,
    "scan": _scan,
}
