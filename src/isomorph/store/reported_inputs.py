"""Inputs that a report holds: those that a search found to reach a latent difference."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.untrusted_json import read_json
from isomorph.store.dtypes import dtype_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_MOST_BYTES = 256 << 20


def reported_inputs(path: Path) -> dict[str, Array]:
    """The inputs of the first finding that has some, out of a JSON report."""
    try:
        with path.open("rb") as file:
            report: Any = read_json(file.read(_MOST_BYTES))
        stored = [each["evidence"].get("inputs") for each in report["findings"]]
        given = next((each for each in stored if each), None)
        if given is not None:
            return decoded_inputs(given)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            "INPUTS_UNREADABLE",
            "this is no report of isomorph check",
            file=str(path),
            why=f"{type(error).__name__}: {error}",
            fix="give arrays as .npz (numpy.savez), .npy or .safetensors",
        ) from error
    raise UsageError(
        "INPUTS_UNREADABLE",
        "the report holds no inputs",
        file=str(path),
        why="only a latent finding that a search has reached brings its inputs along",
    )


def decoded_inputs(encoded: Mapping[str, Any]) -> dict[str, Array]:
    """Inputs as the evidence of a finding holds them."""
    return {str(name): _array(each) for name, each in encoded.items()}


def _array(entry: dict[str, Any]) -> Array:
    raw = np.frombuffer(base64.b64decode(entry["base64"], validate=True), np.uint8).copy()
    return raw.view(dtype_of(entry["dtype"])).reshape(tuple(entry["shape"]))
