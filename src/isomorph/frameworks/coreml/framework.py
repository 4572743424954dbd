"""Core ML models: packages and files with an ML program, read without Core ML Tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.model import Model
from isomorph.core.operator_tables import NO_TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.frameworks.coreml.program import MilProgram

_SUFFIX = ".mlpackage"


class CoremlFramework:
    """Packages (.mlpackage) and files (.mlmodel) with an ML program."""

    name = "coreml"
    extra: str | None = None
    runtime = "coreml"
    oracle = "coreml_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    edits_values_only = True
    operator_tables = NO_TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a folder has a Core ML manifest, or a file begins as a specification does."""
        from isomorph.frameworks.coreml.package import looks_like_package, looks_like_specification

        return looks_like_specification(head) if head else looks_like_package(path)

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """Models of Core ML Tools."""
        kind = type(source)
        return kind.__name__ == "MLModel" and kind.__module__.startswith("coremltools.")

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Save a model of Core ML Tools as a package."""
        path = folder / f"model{_SUFFIX}"
        source.save(str(path))
        return path

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, check and describe; weights stay in their files until somebody wants them."""
        if not isinstance(source, (str, Path)):
            raise UsageError(
                "UNSUPPORTED_SOURCE",
                f"framework 'coreml' cannot read a {type(source).__name__}",
                fix="save it as a package and pass its path",
            )
        from isomorph.frameworks.coreml.describe import describe
        from isomorph.frameworks.coreml.lowering import lowered
        from isomorph.frameworks.coreml.package import open_model

        opened = open_model(Path(source), trusted=options.get("trust") == "yes")
        program = opened.program
        return Model(
            framework=self.name,
            location=str(source),
            digest=opened.digest,
            graph=describe(lowered(program), program.function),
            producer=_producer(program),
            opset={program.opset: program.version},
            metadata=program.metadata,
            notes=program.notes,
            native=program,
        )

    def save(self, model: Model, path: Path) -> None:
        """Write a copy of the package or file."""
        from isomorph.frameworks.coreml.save import save

        save(model.native, Path(path))

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy of the package or file."""
        from isomorph.frameworks.coreml.edit import applied
        from isomorph.frameworks.coreml.save import save

        data, weights = applied(model.native, patch)
        save(model.native, Path(path), data=data, weights=weights)

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.coreml.edit import applied_in_memory

        return replace(model, native=applied_in_memory(model.native, patch))


def _producer(program: MilProgram) -> str:
    version = program.metadata.get("com.github.apple.coremltools.version")
    return f"coremltools {version}" if version else ""
