"""A part of a TFLite model, or a body inside it, as a flatbuffer of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.cutting import find_body, incomplete_piece
from isomorph.frameworks.tflite.cut import Cutter
from isomorph.frameworks.tflite.flatbuffer_writer import build, rooted

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.frameworks.tflite.program import TfliteGraph, TfliteProgram


def piece_of(program: TfliteProgram, piece: Piece) -> bytes:
    """The sub-model, inputs and outputs in the order of the piece."""
    if piece.node is not None:
        graph = _find(program, str(piece.node), str(piece.body))
        places = {tensor.name: tensor.index for tensor in graph.tensors}
        return rooted(program, graph.index, [places[name] for name in piece.fetch])
    cutter = Cutter(program)
    feeds = [cutter.find(name) for name in piece.feeds]
    fetch = [cutter.find(name) for name in piece.fetch]
    found = cutter.slice(feeds, fetch)
    if found.inputs:
        raise incomplete_piece(program.main.tensors[found.inputs[0]].name)
    return build(program, found, feeds, fetch, {}).data


def _find(program: TfliteProgram, node: str, body: str) -> TfliteGraph:
    def bodies(graph: TfliteGraph) -> Iterator[tuple[str, str, int, TfliteGraph]]:
        for operator in graph.operators:
            for key, index in operator.bodies.items():
                yield operator.name, key, 0, program.graphs[index]

    path, _ = find_body(program.main, node, body, bodies)
    return path[-1]
