"""The validator of ai-edge-quantizer asked about a float TFLite file and its int8 form.

python benchmarks/peer_tools/ask_ai_edge_quantizer.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from ai_edge_quantizer import model_validator
from ai_edge_quantizer.utils.tfl_interpreter_utils import create_tfl_interpreter
from ai_edge_quantizer.utils.validation_utils import ValidationErrorMetric

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.pairs import read_pair


def main() -> None:
    folder = folder_of_pair()
    pair = read_pair(folder)
    plain = (folder / "float.tflite").read_bytes()
    quantized = (folder / pair.candidate).read_bytes()
    signatures = create_tfl_interpreter(plain).get_signature_list()
    ((signature, names),) = signatures.items()
    arrays = np.load(folder / pair.inputs)
    sample = {names["inputs"][0]: arrays[arrays.files[0]]}
    result = model_validator.compare_model(
        plain, quantized, {signature: [sample]}, [ValidationErrorMetric.SNR], num_threads=2
    )
    found = result.get_signature_comparison_result(signature)
    # Constants that only one of the files has are listed as well, with a ratio of zero.
    tensors = {**found.input_tensors, **found.intermediate_tensors, **found.output_tensors}
    rows = {name: float(each[ValidationErrorMetric.SNR.value]) for name, each in tensors.items()}
    ranked = sorted(rows, key=lambda name: rows[name])
    says = (
        f"{len(rows)} tensors listed by signal to noise; the lowest {ranked[0]} "
        f"({rows[ranked[0]]:.3g}), then {ranked[1]} ({rows[ranked[1]]:.3g})"
    )
    Answer(wrong=None, first=ranked[0], compared=len(rows), says=says).tell()


if __name__ == "__main__":
    main()
