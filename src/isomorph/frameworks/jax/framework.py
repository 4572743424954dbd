"""JAX: functions exported with ``jax.export``, and live functions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.lazy import require
from isomorph.core.model import Model, OutputOrder
from isomorph.core.model_digests import digest_of_files, digest_of_graph
from isomorph.frameworks.jax.file_structure import looks_like_export
from isomorph.frameworks.jax.live_objects import is_live
from isomorph.frameworks.jax.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays

_NEEDED_FOR = "framework 'jax'"


class JaxFramework:
    """Exported functions of JAX, described from the StableHLO module that they hold."""

    name = "jax"
    suffix = ".jax"
    extra: str | None = "jax"
    runtime = "jax"
    oracle = "jax_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    operator_tables = TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is what ``Exported.serialize`` wrote."""
        return path.is_file() and looks_like_export(path, head)

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """A function, an exported one, or a module of Flax, Equinox or Keras on JAX."""
        return is_live(source)

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Export a live function with example arrays, for a worker to load."""
        require("jax", extra="jax", needed_for=_NEEDED_FOR)
        from isomorph.frameworks.jax.export import exported_bytes
        from isomorph.store.model_bytes import write_copy

        return write_copy(exported_bytes(source, example), folder / "function.jax")

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """A path, an exported function or a live one, read and described."""
        jax = require("jax", extra="jax", needed_for=_NEEDED_FOR)
        from isomorph.frameworks.jax import read
        from isomorph.frameworks.jax.describe import describe

        if isinstance(source, (str, os.PathLike)):
            program, location = read.open_path(Path(source)), os.fspath(source)
        elif is_live(source):
            from isomorph.frameworks.jax.export import example_in, live_export

            exported = live_export(source, example_in(options))
            location = type(source).__name__
            program = read.program_of(exported, bytes(exported.serialize()), file=location)
        else:
            raise UsageError(
                "UNSUPPORTED_SOURCE", f"framework 'jax' cannot read a {type(source).__name__}",
                fix="pass a function, or the path of an exported one",
            )  # fmt: skip
        graph = describe(program)
        named = isinstance(source, (str, os.PathLike))
        return Model(
            framework=self.name,
            location=location,
            digest=digest_of_files(Path(source)) if named else digest_of_graph(graph),
            graph=graph,
            producer=f"jax {jax.__version__}",
            opset={"export": program.exported.calling_convention_version},
            output_order=OutputOrder.NAMED if program.keyed else OutputOrder.UNNAMED,
            channels_last=True,
            native=program,
        )

    def save(self, model: Model, path: Path) -> None:
        """Write a copy; never onto the file it came from."""
        from isomorph.store.model_bytes import write_copy

        write_copy(model.native.data, Path(path), model.location)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a copy with other constants or numbers."""
        self.save(self.apply_in_memory(model, patch), path)

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched function in memory, for its oracle to compute a few tensors."""
        from isomorph.frameworks.jax.patch import patched

        return replace(model, native=patched(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the function, or a body inside it, as an exported function."""
        from isomorph.frameworks.jax.subgraph import piece_of
        from isomorph.store.model_bytes import write_copy

        write_copy(piece_of(model.native, piece), Path(path))
