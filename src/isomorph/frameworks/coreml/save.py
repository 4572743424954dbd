"""Copies of packages and files, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from isomorph.core.errors import RefusedError
from isomorph.frameworks.coreml.program import MilProgram
from isomorph.store.atomic import copy_folder, new_file
from isomorph.store.targets import refuse_overwriting


def save(
    program: MilProgram,
    path: Path,
    *,
    data: bytes | None = None,
    weights: Mapping[str, bytes] | None = None,
) -> None:
    """Write the model to ``path``, with another specification or other weight files if given.

    A package is written as a package; what else lies in it is copied as it is.
    """
    source, specification = program.path, program.specification
    assert source is not None, "only opened models are saved"
    assert specification is not None, "only opened models are saved"
    written = program.data if data is None else data
    changed = {program.weights[name].resolve(): raw for name, raw in (weights or {}).items()}
    if not source.is_dir():
        refuse_overwriting(path, source)
        with new_file(path) as stream:
            stream.write(written)
        return
    if path.exists() and path.samefile(source):
        raise RefusedError(
            "OUTPUT_IS_INPUT", "refused to overwrite a package that is being read:",
            file=str(path), fix="name another folder",
        )  # fmt: skip
    changed[specification.resolve()] = written
    copy_folder(source, path, changed)
