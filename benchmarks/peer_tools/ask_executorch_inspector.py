"""ExecuTorch's Inspector asked for the numeric gap between a program and its export.

python benchmarks/peer_tools/ask_executorch_inspector.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.make_executorch_pairs import RECORD
from peer_tools.pairs import read_pair

_BUFFER_BYTES = 64 << 20


def main() -> None:
    try:
        from executorch.devtools import Inspector
        from executorch.extension.pybindings.portable_lib import _load_for_executorch
    except ImportError as error:
        Answer(wrong=None, skipped=f"{error.name} is not installed").tell()
        return
    folder = folder_of_pair()
    pair = read_pair(folder)
    arrays = np.load(folder / pair.inputs)
    inputs = tuple(torch.from_numpy(arrays[name]) for name in arrays.files)
    with tempfile.TemporaryDirectory() as made:
        events, tensors = str(Path(made) / "events.etdp"), str(Path(made) / "tensors.bin")
        program = _load_for_executorch(
            str(folder / pair.candidate), enable_etdump=True, debug_buffer_size=_BUFFER_BYTES
        )
        program.forward(inputs)
        program.write_etdump_result_to_file(events, tensors)
        inspector = Inspector(
            etdump_path=events, etrecord=str(folder / RECORD), debug_buffer_path=tensors
        )
        rows = inspector.calculate_numeric_gap("MSE").to_dict("records")
    worst = max(rows, key=lambda row: float(row["gap"][0]))
    operators = list(worst["aot_ops"])
    says = (
        f"{len(rows)} parts listed; the largest gap in {' + '.join(operators)} "
        f"(mean square {float(worst['gap'][0]):.1e})"
    )
    # A delegate is one part: all operators in it are named at once.
    Answer(wrong=None, first=" + ".join(operators), compared=len(rows), says=says).tell()


if __name__ == "__main__":
    main()
