"""ExecuTorch programs: read with suspicion, described completely, written as a copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.model import Model, OutputOrder
from isomorph.frameworks.executorch.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch

_IDENTIFIER = b"ET12"


class ExecutorchFramework:
    """Files of ExecuTorch, and their bytes. Reading one needs no package."""

    name = "executorch"
    extra: str | None = None
    runtime = "executorch"
    oracle = "executorch_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    edits_values_only = True
    operator_tables = TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the bytes are an ExecuTorch program."""
        return head[4:8] == _IDENTIFIER

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """The bytes of a program, as ``to_executorch().buffer`` returns them."""
        return isinstance(source, (bytes, bytearray)) and source[4:8] == _IDENTIFIER

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write the bytes to a file for a worker."""
        from isomorph.store.model_bytes import write_copy

        return write_copy(bytes(source), folder / "model.pte")

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, check and describe; weights stay in the file until somebody wants them."""
        from isomorph.frameworks.executorch.describe import describe, notes_on
        from isomorph.frameworks.executorch.read import parsed
        from isomorph.store.model_bytes import opened

        program, location = opened(source, parsed, framework=self.name, suffix=".pte")
        return Model(
            framework=self.name,
            location=location,
            digest=program.digest,
            graph=describe(program),
            producer="ExecuTorch",
            opset={"executorch": program.version},
            metadata={"delegates": ", ".join(dict.fromkeys(program.delegates)) or "none"},
            output_order=OutputOrder.UNNAMED,
            notes=notes_on(program),
            native=program,
        )

    def save(self, model: Model, path: Path) -> None:
        """Write a copy."""
        from isomorph.store.model_bytes import write_copy

        write_copy(model.native.data, Path(path), model.native.path)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; the result passes the same checks as any program that is read."""
        from isomorph.frameworks.executorch.edit import patched
        from isomorph.frameworks.executorch.read import parsed
        from isomorph.store.model_bytes import write_copy

        data = patched(model.native, patch)
        parsed(data, file=str(path))
        write_copy(data, Path(path), model.native.path)

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched program in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.executorch.edit import patched_in_memory

        return replace(model, native=patched_in_memory(model.native, patch))
