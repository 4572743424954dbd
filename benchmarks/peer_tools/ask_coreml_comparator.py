"""The comparator of Core ML Tools asked about an exported program and what it converts it to.

python benchmarks/peer_tools/ask_coreml_comparator.py FOLDER
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import coremltools
import numpy as np
import torch
from coremltools.models.ml_program.experimental.torch.debugging_utils import (
    TorchExportMLModelComparator,
)

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.pairs import read_pair

# Its user writes the comparison; these are NumPy's own defaults.
_RELATIVE, _ABSOLUTE = 1e-5, 1e-8


def main() -> None:
    folder = folder_of_pair()
    pair = read_pair(folder)
    arrays = np.load(folder / pair.inputs)
    inputs = tuple(torch.from_numpy(arrays[name]) for name in arrays.files)
    program = torch.export.load(folder / pair.reference).run_decompositions({})
    compared = 0

    def close(_: object, expected: np.ndarray, found: np.ndarray) -> bool:
        nonlocal compared
        compared += 1
        return bool(np.allclose(found, expected, rtol=_RELATIVE, atol=_ABSOLUTE))

    try:
        comparator = TorchExportMLModelComparator(
            program, compute_precision=coremltools.precision.FLOAT32
        )
        search = comparator.find_failing_ops(inputs=inputs, compare_outputs=close)
        failing = list(asyncio.run(search))
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else ""
        says = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        Answer(wrong=None, skipped=says).tell()
        return
    if not compared:
        # Off a Mac it logs that it cannot load the model, and returns an empty list all the same.
        Answer(wrong=None, skipped="no model could be loaded, so nothing was compared").tell()
        return
    names = [str(node.name) for node in failing]
    says = f"{len(names)} operators fail" + (f", the first {names[0]}" if names else "")
    first = names[0] if names else ""
    Answer(wrong=bool(names), first=first, compared=compared, says=says).tell()


if __name__ == "__main__":
    main()
