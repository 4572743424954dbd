"""Folders that hold a model among other files, and names of models of the Hugging Face hub."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from isomorph.core.errors import UnreadableModelError
from isomorph.core.untrusted_json import read_json

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_GENAI_CONFIG = "genai_config.json"
_MERGED_DECODER = "decoder_model_merged.onnx"
"""The decoder of optimum with and without caches in one file; others beside it are its parts."""
_DECODER_WITH_CACHES = "decoder_with_past_model.onnx"
"""The decoder of optimum that takes caches; the one beside it takes none, and reads the prompt."""


def is_hub_name(path: Path, suffixes: Sequence[str]) -> bool:
    """Whether a path may name a model of the hub: two words, and no suffix of a model file."""
    return bool(_HUB_NAME.fullmatch(path.as_posix())) and path.suffix.lower() not in suffixes


def hub_folder(path: Path) -> Path:
    """The folder of a model of the hub in the local cache; nothing is downloaded."""
    name = path.as_posix()
    folder = _hub_cache() / f"models--{name.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        revision = ""
    snapshot = folder / "snapshots" / revision
    if not re.fullmatch(r"\w+", revision) or not snapshot.is_dir():
        raise UnreadableModelError(
            "FILE_NOT_FOUND",
            "there is no such file:",
            file=name,
            why="nor is a model of that name in the local cache of the Hugging Face hub",
            fix=f"if it is one: hf download {name}",
        )
    return snapshot


def main_model(folder: Path, found: Sequence[Path], *, decodes: bool = False) -> Path | None:
    """The one of several models that a folder is about, where it says so.

    ONNX Runtime GenAI names its decoder in a configuration; optimum merges its decoders, or writes
    two. ``decodes``: that which takes caches is meant.
    """
    by_name = {each.name: each for each in found}
    stated = _genai_decoder(folder / _GENAI_CONFIG)
    main = by_name.get(stated or "") or by_name.get(_MERGED_DECODER)
    return main or (by_name.get(_DECODER_WITH_CACHES) if decodes else None)


def how_to_name(found: Sequence[Path]) -> str:
    """How to name one of the models of a folder, with what those of optimum are for."""
    with_caches = next((each for each in found if each.name == _DECODER_WITH_CACHES), None)
    if with_caches is None:
        return f"name one of them: {found[0]}"
    return (
        f"name one of them: {found[0]}, or check the decoder with caches token by token: "
        f"--decode 16 takes {with_caches.name}"
    )


def _hub_cache() -> Path:
    """Where huggingface_hub keeps what was downloaded."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def _genai_decoder(path: Path) -> str | None:
    """The file of the decoder that a configuration of ONNX Runtime GenAI names."""
    try:
        config = read_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    for key in ("model", "decoder", "filename"):
        if not isinstance(config, Mapping):
            return None
        config = config.get(key)
    return config if isinstance(config, str) else None
