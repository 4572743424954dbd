"""ONNX models: read with suspicion, described completely, written as copies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.lazy import require
from isomorph.core.model import Graph, Model
from isomorph.frameworks.onnx.file_structure import looks_like_model
from isomorph.frameworks.onnx.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.onnx.read import LoadedModel
    from isomorph.proof.calls import Meanings


class OnnxFramework:
    """Files, bytes and ModelProtos of ONNX."""

    name = "onnx"
    operator_tables = TABLES
    suffix = ".onnx"
    extra: str | None = None
    runtime = "onnxruntime"
    oracle = "onnx_oracle"
    keeps_metadata = True

    keeps_float = True
    frees_axes = True

    def meanings(self) -> Meanings:
        """What its operators mean, for proofs."""
        from isomorph.frameworks.onnx.meanings import MEANINGS

        return MEANINGS

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the bytes are those of a ModelProto, whatever the suffix."""
        return looks_like_model(head)

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """A ModelProto, or the bytes of one."""
        if isinstance(source, (bytes, bytearray)):
            return looks_like_model(bytes(source[:4096]))
        return type(source).__name__ == "ModelProto"

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write a live model to a file for a worker; nothing is traced, so no example is used."""
        from isomorph.frameworks.onnx.read import open_bytes, open_proto
        from isomorph.frameworks.onnx.save import save

        serialized = isinstance(source, (bytes, bytearray))
        loaded = open_bytes(bytes(source)) if serialized else open_proto(source)
        path = folder / "model.onnx"
        save(loaded.model, path)
        return path

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, check, infer shapes and describe; external weights stay in their files."""
        require("onnx", extra="all", needed_for="framework 'onnx'")
        from isomorph.frameworks.onnx.describe import describe
        from isomorph.frameworks.onnx.file_notes import doc_strings, load_facts, notes_on
        from isomorph.frameworks.onnx.shapes import infer
        from isomorph.frameworks.onnx.validate import opsets

        loaded, location = _open(source, trusted=options.get("trust") == "yes")
        inferred = infer(loaded.model)
        graph = describe(loaded.model, inferred.graph)
        proto = loaded.model.outline
        return Model(
            framework=self.name,
            location=location,
            digest=_digest(loaded, graph),
            graph=loaded.model.with_file_offsets(graph),
            producer=f"{proto.producer_name} {proto.producer_version}".strip(),
            opset=opsets(proto),
            metadata={e.key: e.value for e in proto.metadata_props} | doc_strings(proto),
            notes=(*loaded.notes, *inferred.notes, *notes_on(proto)),
            load_facts=load_facts(proto),
            native=loaded.model,
        )

    def sidecar_files(self, path: Path) -> tuple[Path, ...]:
        """The files with weights that belong to this one."""
        from isomorph.frameworks.onnx.sidecar_files import companions

        return companions(path)

    def save(self, model: Model, path: Path) -> None:
        """Write a copy, weights beside it where they were beside the original."""
        from isomorph.frameworks.onnx.save import save

        save(model.native, Path(path))

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; the result passes the same checks as any model that is read."""
        from isomorph.frameworks.onnx.edit import patched
        from isomorph.frameworks.onnx.save import save

        save(patched(model.native, patch), Path(path))

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.onnx.edit import patched_in_memory

        return replace(model, native=patched_in_memory(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model, or a body inside it, as a model of its own."""
        from isomorph.frameworks.onnx.save import save
        from isomorph.frameworks.onnx.subgraph import piece_of

        save(piece_of(model.native, piece, feeds), Path(path))


def _open(source: Any, *, trusted: bool) -> tuple[LoadedModel, str]:  # noqa: ANN401
    from isomorph.frameworks.onnx.read import open_bytes, open_path, open_proto

    if isinstance(source, (str, Path)):
        return open_path(Path(source), trusted=trusted), str(source)
    if isinstance(source, (bytes, bytearray)):
        return open_bytes(bytes(source)), "bytes in memory"
    if type(source).__name__ == "ModelProto":
        return open_proto(source), "ModelProto in memory"
    raise UsageError(
        "UNSUPPORTED_SOURCE",
        f"framework 'onnx' cannot read a {type(source).__name__}",
        fix="pass the path of an .onnx file, its bytes, or an onnx.ModelProto",
    )


def _digest(loaded: LoadedModel, graph: Graph) -> str:
    """Of the file, and of the weights beside it where there are any."""
    from isomorph.frameworks.onnx.external_data import is_external

    stored = loaded.model.outline.graph.initializer
    beside = [tensor.name for tensor in stored if is_external(tensor)]
    if loaded.digest and not beside:
        return loaded.digest
    whole = hashlib.sha256(loaded.digest.encode())
    for name in beside or sorted(graph.constants):
        whole.update(graph.constants[name].digest.encode())
    return whole.hexdigest()
