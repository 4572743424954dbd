"""Find the node that crashes a runtime while it opens a model, by bisecting the graph.

A runtime that crashes while running leaves the name of the node it ran last; one that crashes while
opening a model leaves none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.messages import message
from isomorph.core.subgraph import Piece
from isomorph.sessions.in_process import extractor
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Arrays

CRASHED = "RUNTIME_CRASHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashingNode:
    """A node that crashes the runtime; ``alone``: a model of this node alone does so too."""

    node: Node
    dtype: str
    alone: bool
    unscaled: tuple[str, ...] = ()
    """Quantized tensors around it whose scale is not a positive number."""

    @property
    def sentence(self) -> str:
        """The result of the bisection as text."""
        text = message(
            "crash.alone" if self.alone else "crash.with_others",
            node=self.node.name,
            op=self.node.native_op,
            dtype=self.dtype,
        )
        if not self.unscaled:
            return text
        return message("crash.scales", text=text, tensors=", ".join(map(repr, self.unscaled)))


def with_crashing_node(error: IsomorphError, handle: ModelHandle, feeds: Arrays) -> IsomorphError:
    """The error with the name of the crashing node, where bisection finds one."""
    # Without isolation a crash would end this process.
    if error.code != CRASHED or error.node or handle.host.isolation == "none":
        return error
    found = crashing_node(handle, feeds)
    if found is None:
        return error
    return RuntimeFailedError(
        error.code,
        error.phrase,
        file=error.file,
        why=f"{found.sentence}; {error.why}",
        fix=error.fix,
        node=found.node.name,
    )


def crashing_node(handle: ModelHandle, feeds: Arrays) -> CrashingNode | None:
    """The first node with which every prefix of the graph crashes; None where none does."""
    graph = handle.model.graph
    with TemporaryDirectory(prefix="isomorph-deadly-") as folder:
        trial = _Trial(handle=handle, feeds=feeds, folder=Path(folder))
        try:
            extractor(handle.model.framework)
            if not graph.nodes or not trial.dies(_beginning(graph, len(graph.nodes))):
                return None
            # The longest prefix that opens, and the shortest that crashes.
            survived, fatal = 0, len(graph.nodes)
            while fatal - survived > 1:
                middle = (survived + fatal) // 2
                if trial.dies(_beginning(graph, middle)):
                    fatal = middle
                else:
                    survived = middle
        except IsomorphError:
            return None  # a part that cannot be a model of its own proves nothing
        node = graph.nodes[fatal - 1]
        if fatal == 1 and _dies_of_anything(trial, graph):
            return None  # the runtime may crash on import
        return CrashingNode(
            node=node,
            dtype=_dtype(graph, node),
            alone=_alone(trial, graph, node),
            unscaled=_unscaled(graph, node),
        )


@dataclass(slots=True, kw_only=True)
class _Trial:
    handle: ModelHandle
    feeds: Arrays
    folder: Path
    _made: int = 0

    def dies(self, piece: Piece) -> bool:
        """Whether the runtime crashes when it opens this piece; other errors are raised."""
        host, model = self.handle.host, self.handle.model
        self._made += 1
        path = self.folder / f"{self._made}{extractor(model.framework).suffix}"
        examples = {name: self.feeds[name] for name in piece.feeds if name in self.feeds}
        host.cut(model, piece, examples, path)
        part = host.load(str(path), model.framework, {})
        try:
            replace(self.handle, model=part, reals={}, _sessions={}).run().close()
        except IsomorphError as error:
            return error.code == CRASHED
        return False


def _beginning(graph: Graph, count: int) -> Piece:
    """The first nodes, with everything that they leave for others as results."""
    nodes = graph.nodes[:count]
    used = {name for node in nodes for name in node.inputs}
    left = [name for node in nodes for name in node.outputs if name and name not in used]
    inputs = tuple(spec.name for spec in graph.inputs if spec.name in used)
    return Piece(feeds=inputs, fetch=tuple(left))


def _alone(trial: _Trial, graph: Graph, node: Node) -> bool:
    given = [name for name in node.inputs if name and name not in graph.constants]
    piece = Piece(feeds=tuple(dict.fromkeys(given)), fetch=tuple(filter(None, node.outputs)))
    try:
        return trial.dies(piece)
    except IsomorphError:
        return False


def _dies_of_anything(trial: _Trial, graph: Graph) -> bool:
    """Whether a model without nodes, whose output is its input, crashes the runtime too."""
    through = tuple(spec.name for spec in graph.inputs[:1])
    try:
        return bool(through) and trial.dies(Piece(feeds=through, fetch=through))
    except IsomorphError:
        return False


def _unscaled(graph: Graph, node: Node) -> tuple[str, ...]:
    around = {*node.inputs, *node.outputs}
    return tuple(
        entry.tensor
        for entry in graph.quantization
        if entry.tensor in around and not all(scale > 0 for scale in entry.scale)
    )


def _dtype(graph: Graph, node: Node) -> str:
    specs: Sequence[str | None] = [
        graph.tensors[name].dtype for name in node.outputs if name in graph.tensors
    ]
    return next((dtype for dtype in specs if dtype), message("crash.unknown_type"))
