"""ONNX Runtime's quantization debugger asked about a float model and its int8 form.

python benchmarks/peer_tools/ask_ort_debugger.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from onnxruntime.quantization import CalibrationDataReader
from onnxruntime.quantization.qdq_loss_debug import (
    collect_activations,
    compute_activation_error,
    compute_weight_error,
    create_activation_matching,
    create_weight_matching,
    modify_model_output_intermediate_tensors,
)

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.pairs import read_pair


class OneSample(CalibrationDataReader):
    """The inputs of the pair, once."""

    def __init__(self, path: Path) -> None:
        arrays = np.load(path)
        self._left = iter([{name: arrays[name] for name in arrays.files}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)


def main() -> None:
    folder = folder_of_pair()
    pair = read_pair(folder)
    tensors = []
    with tempfile.TemporaryDirectory() as made:
        for name in (pair.reference, pair.candidate):
            target = str(Path(made) / name)
            modify_model_output_intermediate_tensors(str(folder / name), target)
            tensors.append(collect_activations(target, OneSample(folder / pair.inputs)))
    errors = compute_activation_error(create_activation_matching(tensors[1], tensors[0]))
    weights = compute_weight_error(
        create_weight_matching(str(folder / pair.reference), str(folder / pair.candidate))
    )
    # It has two measures. "qdq_err" compares the two sides of one quantizer, and is low for every
    # ReLU that was merged into its quantizer; "xmodel_err" compares with the float model.
    ranked = sorted(errors, key=lambda name: errors[name]["xmodel_err"])
    weakest, next_one = ranked[0], ranked[1]
    says = (
        f"{len(errors)} activations and {len(weights)} weights listed by signal to noise; the "
        f"lowest {weakest} ({errors[weakest]['xmodel_err']:.1f} dB), then {next_one} "
        f"({errors[next_one]['xmodel_err']:.1f} dB)"
    )
    Answer(wrong=None, first=weakest, compared=len(errors) + len(weights), says=says).tell()


if __name__ == "__main__":
    main()
