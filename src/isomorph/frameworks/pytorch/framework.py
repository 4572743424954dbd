"""PyTorch: .pt2 and TorchScript files, pickles and factories one trusts, live modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.lazy import require
from isomorph.core.model import Model, OutputOrder
from isomorph.core.model_digests import digest_of_files, digest_of_graph
from isomorph.frameworks.pytorch.archive import (
    is_archive,
    is_damaged,
    is_folder_of_transformers,
    kind_of,
)
from isomorph.frameworks.pytorch.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.pytorch.model import TorchModel
    from isomorph.proof.calls import Meanings

_NEEDED_FOR = "framework 'pytorch'"


class PytorchFramework:
    """Models of PyTorch, described from the graph that ``torch.export`` or TorchScript keeps."""

    name = "pytorch"
    suffix = ".pt2"
    extra = "torch"
    runtime = "pytorch"
    oracle = "pytorch_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    operator_tables = TABLES

    def meanings(self) -> Meanings:
        """What its operators mean, for proofs."""
        from isomorph.frameworks.pytorch.meanings import MEANINGS

        return MEANINGS

    def sniff(self, path: Path, head: bytes) -> bool:
        """An archive or pickle of torch, by its members; a GGUF file or folder of transformers."""
        return is_folder_of_transformers(path) or kind_of(path, head) is not None

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """A live module or exported program; torch is only looked at when it is loaded already."""
        torch = sys.modules.get("torch")
        if torch is None:
            return False
        return isinstance(source, (torch.nn.Module, torch.export.ExportedProgram))

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Export a live module with example arrays, for a worker to load."""
        require("torch", extra=self.extra, needed_for=_NEEDED_FOR)
        from isomorph.frameworks.pytorch.export import export_live

        return export_live(source, example, folder)

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """A path, a ``package.module:factory``, a live module or an exported program."""
        torch = require("torch", extra=self.extra, needed_for=_NEEDED_FOR)
        from isomorph.frameworks.pytorch import load as pytorch_load

        location = os.fspath(source) if _is_named(source) else type(source).__name__
        notes: tuple[str, ...] = ()
        if isinstance(source, torch.export.ExportedProgram):
            model = pytorch_load.from_exported(source)
        elif isinstance(source, torch.nn.Module):
            example = pytorch_load.example_in(options)
            model, notes = pytorch_load.from_module(source, example, location)
        elif pytorch_load.FACTORY.fullmatch(os.fspath(source)) and not Path(source).exists():
            model, notes = pytorch_load.from_factory(os.fspath(source), options)
        else:
            return _from_file(Path(source), options, str(torch.__version__))
        return _described(model, location, notes, str(torch.__version__))

    def save(self, model: Model, path: Path) -> None:
        """Write a copy; never onto the file it came from, nor through a link."""
        torch = require("torch", extra=self.extra, needed_for=_NEEDED_FOR)
        from isomorph.store.atomic import refuse_link
        from isomorph.store.targets import refuse_overwriting

        refuse_link(path)
        refuse_overwriting(path, model.location)
        native: TorchModel = model.native.complete()
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            if native.kind == "script":
                native.deployed.save(unfinished)
            elif native.exported is not None:
                with unfinished.open("wb") as file:
                    torch.export.save(native.exported, file)
            else:
                raise UsageError(
                    "NOT_SAVABLE", "a module that torch.export refuses has no file format",
                    fix="save its state_dict, and keep the factory",
                )  # fmt: skip
            with unfinished.open("rb") as file:
                os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; with the suffix ``.safetensors`` its weights alone."""
        require("torch", extra=self.extra, needed_for=_NEEDED_FOR)
        from isomorph.frameworks.pytorch.patch import write_patched

        write_patched(model.native, patch, Path(path))

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched program in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.pytorch.patch import patched_in_memory

        return replace(model, native=patched_in_memory(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the program as an exported program of its own."""
        torch = require("torch", extra=self.extra, needed_for=_NEEDED_FOR)
        from isomorph.frameworks.pytorch.subgraph import piece_of
        from isomorph.store.atomic import new_file

        with new_file(Path(path)) as stream:
            torch.export.save(piece_of(model.native, piece, feeds), stream)


def _from_file(path: Path, options: Mapping[str, str], version: str) -> Model:
    from isomorph.frameworks.pytorch import load as pytorch_load

    try:
        with ThreadPoolExecutor(1) as pool:
            digest = pool.submit(digest_of_files, path)
            model, notes = pytorch_load.load_file(path, options, steps_suffice=True)
            described = _described(model, os.fspath(path), notes, version)
            return replace(described, digest=digest.result())
    except IsomorphError:
        raise
    except Exception as error:
        # Spoilt bytes may pass torch's reader and fail wherever they are looked at.
        if is_archive(path) and is_damaged(path):
            raise pytorch_load.unreadable(path, error) from error
        raise


def _described(native: TorchModel, location: str, notes: tuple[str, ...], version: str) -> Model:
    from isomorph.frameworks.pytorch.describe import describe

    graph = describe(native.program, native.release)
    native.release()
    return Model(
        framework="pytorch",
        location=location,
        digest=digest_of_graph(graph),
        graph=graph,
        producer=f"torch {version}",
        metadata={"kind": native.kind},
        output_order=OutputOrder.UNNAMED,
        runs_python=native.kind == "module",
        notes=notes,
        load_facts=native.load_facts,
        native=native,
    )


def _is_named(source: object) -> bool:
    """Whether the model is given by a path or the name of a factory."""
    return isinstance(source, (str, os.PathLike))
