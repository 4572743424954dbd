"""Does TFLite's quantization change the outputs of a one-weight Dense and a 3 × 3 convolution?

The folklore: TensorFlow and plain TFLite give exactly 3.0 and 9.0, and the quantized files
something that is not quite that; a recurrent layer drifts further with every step.

Measured: 3.0 and 9.0 in every way of converting, bit for bit. With ``Optimize.DEFAULT`` nothing
was quantized: weights of fewer than 1,024 elements stay in float32, and these have 1, 9 and 20.
float16 does store halves, and every one of these weights is a half already. The recurrent layer is
off by 6e-8, one rounding at 1, with and without the option. So the experiment measured two
kernels and no quantization; `tflite_quantized.py` repeats it with enough weights.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from converting import keras_model, stored_types, tflite
from showing import Facts, show

import isomorph

FIXED = {"use_bias": False, "kernel_initializer": "ones"}
HALVES = {"class_name": "Constant", "config": {"value": 1.5}}
LAYERS = {
    "Dense": ((1, 1), lambda of: [of.Dense(1, use_bias=False, kernel_initializer=HALVES)]),
    "Conv": ((1, 5, 5, 1), lambda of: [of.Conv2D(1, 3, **FIXED)]),
    "RNN": ((1, 5, 1), lambda of: [of.SimpleRNN(4, recurrent_initializer="ones", **FIXED)]),
}


def main() -> Facts:
    facts: Facts = {}
    with TemporaryDirectory() as folder:
        for name, (shape, layers) in LAYERS.items():
            x = np.full(shape, 2.0 if name == "Dense" else 1.0, np.float32)
            model = keras_model(Path(folder) / f"{name}.keras", layers, shape)
            facts[f"{name}, Keras"] = {"output": _first(model, x)}
            for way in ("plain", "dynamic range", "float16"):
                facts[f"{name}, {way}"] = _row(model, tflite(model, way, ()), x)
    return facts


def _row(model: Path, converted: Path, x: np.ndarray) -> dict:
    report = isomorph.check(model, converted, inputs={"x": x}, in_process=True)
    (output,) = report.outputs
    types = stored_types(converted)
    return {
        "output": _first(converted, x),
        "max difference": output.observed.distance.max_abs,
        "int8 elements": types.get("int8", 0),
        "float16 elements": types.get("float16", 0),
        "verdict": report.verdict.value,
    }


def _first(model: Path, x: np.ndarray) -> float:
    (value,) = isomorph.run(model, inputs={"x": x}, in_process=True).tensors.values()
    return float(np.asarray(value).flat[0])


if __name__ == "__main__":
    show(main())
