"""TensorFlow Lite's QuantizationDebugger asked about an int8 conversion.

    python benchmarks/peer_tools/ask_tflite_debugger.py FOLDER

It does not read a finished int8 file: it converts the Keras model once more, with nodes that
compare, on the calibration of the pair.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import keras
import numpy as np
import tensorflow as tf

from peer_tools.answers import Answer, folder_of_pair
from peer_tools.make_keras_pairs import TOO_SMALL, converter
from peer_tools.pairs import read_pair


def main() -> None:
    folder = folder_of_pair()
    pair = read_pair(folder)
    arrays = np.load(folder / pair.inputs)
    image = arrays[arrays.files[0]]
    model = keras.models.load_model(folder / pair.reference)
    converting = converter(model, TOO_SMALL if pair.faulty else 1.0)
    # Without it, the debugger lists no layer.
    converting.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    debugger = tf.lite.experimental.QuantizationDebugger(
        converter=converting,
        debug_dataset=lambda: iter([[image]]),
    )
    debugger.run()
    table = io.StringIO()
    debugger.layer_statistics_dump(table)
    # The measure that its documentation proposes: the error in steps of the quantizer.
    rows = {
        row["tensor_name"]: float(row["mean_squared_error"]) ** 0.5 / float(row["scale"])
        for row in csv.DictReader(io.StringIO(table.getvalue()))
    }
    ranked = sorted(rows, key=lambda name: -rows[name])
    says = (
        f"{len(rows)} layers listed by error in steps; the largest "
        f"{ranked[0]} ({rows[ranked[0]]:.2f}), then {ranked[1]} ({rows[ranked[1]]:.2f})"
    )
    Answer(wrong=None, first=ranked[0], compared=len(rows), says=says).tell()


if __name__ == "__main__":
    main()
