"""A part of a model, or of a body inside it, as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.cutting import incomplete_piece, require_known
from isomorph.frameworks.openvino.cut import Cutter, body_of
from isomorph.frameworks.openvino.read import read_tree

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.frameworks.openvino.program import IrModel


def piece_of(model: IrModel, piece: Piece) -> IrModel:
    """The part, with the shapes that the file declares for its inputs."""
    graph = model.graph
    if piece.node is not None and piece.body is not None:
        graph = body_of(model, piece.node, piece.body)
    cutter = Cutter(graph, model.weights)
    require_known((*piece.feeds, *piece.fetch), cutter.ports)
    _, missing = cutter.layers(dict.fromkeys(piece.feeds), piece.fetch)
    if missing:
        raise incomplete_piece(missing[0])
    shapes = {name: cutter.ports[name].shape for name in piece.feeds}
    root, weights = cutter.part(shapes, piece.fetch)
    return read_tree(root, weights, file=str(model.path or "a part of a model"))
