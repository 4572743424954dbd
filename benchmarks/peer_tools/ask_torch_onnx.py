"""``torch.onnx.verification`` asked about a pair, every value compared.

    python benchmarks/peer_tools/ask_torch_onnx.py FOLDER

It verifies a program that it exported itself, so the program is exported here once more and the
file of the pair takes the place of the exported graph.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx_ir
import torch
from torch.onnx.verification import verify_onnx_program

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.pairs import read_pair

# Where the interpreter of torch 2.13 warns by itself; below, it lists and leaves it to the reader.
WARNS_ABSOLUTE, WARNS_RELATIVE = 0.01, 0.1


def main() -> None:
    folder = folder_of_pair()
    pair = read_pair(folder)
    arrays = np.load(folder / pair.inputs)
    inputs = tuple(torch.from_numpy(arrays[name]) for name in arrays.files)
    reference = torch.export.load(folder / pair.reference)
    program = torch.onnx.export(
        reference, (), input_names=list(arrays.files), output_names=["scores"],
        dynamo=True, verbose=False,
    )  # fmt: skip
    program.model = onnx_ir.load(folder / pair.candidate)
    found = verify_onnx_program(program, inputs, compare_intermediates=True)
    warned = [
        info
        for info in found
        if info.max_abs_diff > WARNS_ABSOLUTE or info.max_rel_diff > WARNS_RELATIVE
    ]
    worst = max(found, key=lambda info: info.max_abs_diff)
    says = f"{len(found)} values listed, {len(warned)} with a warning"
    says += f", the first {warned[0].name}" if warned else ""
    says += f"; largest difference {worst.max_abs_diff:.1e} at {worst.name}"
    first = warned[0].name if warned else ""
    Answer(wrong=bool(warned), first=first, compared=len(found), says=says).tell()


if __name__ == "__main__":
    main()
