"""TFLite models: a flatbuffer, read with suspicion, described completely, written as a copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require
from isomorph.core.model import Model
from isomorph.frameworks.tflite.file_signature import looks_like_model
from isomorph.frameworks.tflite.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.tflite.program import TfliteProgram
    from isomorph.proof.calls import Meanings

_HEAD = 64 << 10


class TfliteFramework:
    """Files and bytes of TensorFlow Lite, which is also LiteRT's format."""

    name = "tflite"
    suffix = ".tflite"
    extra: str | None = "tflite"
    runtime = "tflite"
    oracle = "tflite_oracle"
    keeps_metadata = False
    keeps_float = True
    frees_axes = False
    operator_tables = TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the bytes are a TFLite flatbuffer, with its identifier or without."""
        return looks_like_model(head)

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """The bytes of a flatbuffer, as a converter returns them."""
        return isinstance(source, (bytes, bytearray)) and looks_like_model(bytes(source[:_HEAD]))

    def meanings(self) -> Meanings:
        """The float operators that have a meaning, for proofs."""
        from isomorph.frameworks.tflite.meanings import MEANINGS

        return MEANINGS

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write the bytes to a file for a worker; nothing is traced, so no example is used."""
        from isomorph.store.model_bytes import write_copy

        return write_copy(bytes(source), folder / "model.tflite")

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, check and describe; weights stay in the file until somebody wants them."""
        require("ai_edge_litert", extra="tflite", needed_for="framework 'tflite'")
        from isomorph.frameworks.tflite.describe import describe, notes_on
        from isomorph.frameworks.tflite.read import loaded
        from isomorph.store.model_bytes import opened

        found, location = opened(source, loaded, framework=self.name, suffix=self.suffix)
        program = found.program
        return Model(
            framework=self.name,
            location=location,
            digest=found.digest,
            graph=describe(program),
            producer=program.description,
            opset={"tflite": program.version},
            metadata=_metadata(program),
            channels_last=True,
            notes=notes_on(program),
            native=program,
        )

    def save(self, model: Model, path: Path) -> None:
        """Write a copy of the flatbuffer."""
        from isomorph.store.model_bytes import write_copy

        write_copy(model.native.data, Path(path), model.native.path)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; the result passes the same checks as any model that is read."""
        from isomorph.frameworks.tflite.edit import patched
        from isomorph.store.model_bytes import write_copy

        write_copy(patched(model.native, patch), Path(path), model.native.path)

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.tflite.edit import patched_in_memory

        return replace(model, native=patched_in_memory(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model, or a body inside it, as a flatbuffer of its own."""
        from isomorph.frameworks.tflite.subgraph import piece_of
        from isomorph.store.model_bytes import write_copy

        write_copy(piece_of(model.native, piece), Path(path))


def _metadata(program: TfliteProgram) -> dict[str, str]:
    """The converter's own entries that are text, and the file's names behind the signature."""
    metadata = {}
    if version := program.metadata.get("min_runtime_version"):
        metadata["min_runtime_version"] = version.rstrip(b"\0").decode("utf-8", "replace")
    if program.signature is not None:
        metadata["signature"] = program.signature.key
        sides = (("input", program.signature.inputs), ("output", program.signature.outputs))
        for word, names in sides:
            for name, index in names.items():
                metadata[f"{word} {name}"] = program.main.tensors[index].own_name
    return metadata
