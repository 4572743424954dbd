"""A part of an exported function, or a body inside it, as an exported function of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
from jax import export
from jaxlib.mlir.dialects import stablehlo

from isomorph.core.cutting import find_body, incomplete_piece
from isomorph.core.errors import UsageError
from isomorph.frameworks.jax.cut import Cutter
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.frameworks.jax.program import JaxNode, JaxProgram


def piece_of(program: JaxProgram, piece: Piece) -> bytes:
    """The part as a file holds it, inputs and outputs in the order of the piece."""
    if program.dynamic:
        raise UsageError(
            "CUT_UNSUPPORTED", "a function with dynamic axes cannot be cut",
            fix="export it with fixed sizes",
        )  # fmt: skip
    cutter = Cutter(program)
    if piece.node is None:
        cutter.check((*piece.feeds, *piece.fetch))
        if missing := cutter.ends(dict.fromkeys(piece.feeds), piece.fetch):
            raise incomplete_piece(missing[0])
    else:
        find_body(program.nodes, piece.node, str(piece.body), _bodies)
    module = cutter.module(piece.feeds, piece.fetch, "default")
    data = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
    return _exported(program, piece.feeds, piece.fetch, data)


def _bodies(
    nodes: tuple[JaxNode, ...],
) -> Iterator[tuple[str, str, int, tuple[JaxNode, ...]]]:
    for node in nodes:
        for key, body in node.bodies.items():
            yield node.name, key, 0, body.nodes


def _exported(
    program: JaxProgram, feeds: Sequence[str], fetch: Sequence[str], module: bytes
) -> bytes:
    inputs, outputs = (
        tuple(
            jax.core.ShapedArray(
                tuple(size or 0 for size in program.tensors[name].shape),
                numpy_dtype(program.tensors[name].dtype),
            )
            for name in names
        )
        for names in (feeds, fetch)
    )
    with jax.enable_x64(True):
        made = replace(
            program.exported,
            fun_name="part",
            in_tree=jax.tree.structure((tuple(inputs), {})),
            in_avals=inputs,
            out_tree=jax.tree.structure(tuple(outputs)),
            out_avals=outputs,
            _in_named_shardings=(None,) * len(inputs),
            _out_named_shardings=(None,) * len(outputs),
            in_shardings_hlo=(None,) * len(inputs),
            out_shardings_hlo=(None,) * len(outputs),
            # What was read for one platform holds for the others that compute the same.
            platforms=program.platforms[:1],
            disabled_safety_checks=(export.DisabledSafetyCheck.platform(),),
            mlir_module_serialized=module,
            module_kept_var_idx=tuple(range(len(inputs))),
            uses_global_constants=False,
            _get_vjp=None,
        )
        return bytes(made.serialize())
