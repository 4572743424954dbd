"""The parts of a program that runs a model by its runtime alone: imports, and a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource


def preamble(sources: Sequence[ScriptSource]) -> Iterator[str]:
    """What stands before the functions: variables of the process, imports, the script's folder."""
    variables = {k: v for each in sources for k, v in each.variables.items()}
    yield from ["import os"] if variables else []
    yield from ("import sys", "from pathlib import Path", "")
    yield from (f"os.environ[{key!r}] = {value!r}" for key, value in variables.items())
    yield from [""] if variables else []
    yield "import numpy as np"
    yield from dict.fromkeys(line for each in sources for line in each.imports)
    yield from ("", "FOLDER = Path(__file__).resolve().parent")


def function(name: str, file: str, source: ScriptSource) -> Iterator[str]:
    """A function of a path, feeds and an output's name that runs the model as its runtime does."""
    yield f"def {name}(path, feeds, output):"
    yield f'    """The values of {file} as its runtime computes them."""'
    yield from (f"    {line}" if line else "" for line in source.body)
    yield from ("", "")
