"""A model with float inputs and outputs against its quantized form, which has integers there."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from warm_process import isomorph as command

CONVERT = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np, tensorflow as tf
from keras import layers
keras.utils.set_random_seed(1)
image = keras.Input((12, 12, 3), name="image")
y = layers.Conv2D(16, 3, padding="same", activation="relu")(image)
y = layers.GlobalAveragePooling2D()(layers.Conv2D(24, 3, activation="relu")(y))
model = keras.Model(image, layers.Dense(7, activation="softmax")(y))
model.save("model.keras")
draw = np.random.default_rng(0)
images = draw.random((41, 1, 12, 12, 3), dtype=np.float32)
np.savez("inputs.npz", image=images[0])
kinds = tf.lite.OpsSet
short = kinds.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
for name, ops in (("int8", kinds.TFLITE_BUILTINS_INT8), ("uint8", kinds.TFLITE_BUILTINS_INT8),
                  ("int16", short)):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([each] for each in images[1:])
    converter.target_spec.supported_ops = [ops]
    converter.inference_input_type = converter.inference_output_type = getattr(tf, name)
    open(name + ".tflite", "wb").write(converter.convert())
"""


@pytest.fixture(scope="module")
def keras(tmp_path_factory):
    """A CNN, calibrated with images of 0…1, in three forms whose inputs and outputs are integers.

    Made in a process of its own, because TensorFlow stays in one for good.
    """
    folder = tmp_path_factory.mktemp("keras")
    line = [sys.executable, "-c", CONVERT]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def _interface(report):
    return [
        f.summary for f in report.findings if f.code == "INTERFACE" and " was float32" in f.summary
    ]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16"])
def test_a_fully_quantized_tflite_is_degraded(keras, name):
    report = isomorph.check(
        keras / "model.keras", keras / f"{name}.tflite", inputs=keras / "inputs.npz"
    )
    assert report.verdict.value == "degraded", report.reason
    summaries = _interface(report)
    assert len(summaries) == 2
    assert f"takes {name}: it is fed with quantized values, scale" in summaries[0]
    assert f"gives {name}: it is compared dequantized, scale" in summaries[1]
    assert not any(f.effect == "reaches_output" or f.fix for f in report.findings)
    assert report.outputs[0].intended_loss.budget.ratio < 0.9
    row = next(row for row in report.quantization if row.tensor == "image")
    assert row.clipped == 0.0
    assert row.sqnr_db is not None


def test_made_up_inputs_lie_in_the_calibrated_range(keras):
    report = isomorph.check(
        keras / "model.keras",
        keras / "int8.tflite",
        options=isomorph.CheckOptions(quantization=False),
    )
    assert report.verdict.value == "degraded", report.reason
    assert all("calibrated range" in each.origin for each in report.inputs)
    assert "INPUT_CLIPPED" not in {f.code for f in report.findings}


def test_two_kinds_of_integers_meet_in_real_numbers(keras):
    report = isomorph.check(
        keras / "int8.tflite",
        keras / "uint8.tflite",
        options=isomorph.CheckOptions(quantization=False),
    )
    assert report.verdict.value == "equivalent", report.reason


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    """Conv and Relu in float, and as a QLinearConv of uint8 with a right and a wrong weight.

    Both have 7 bits, which no CPU saturates with; ``wide`` is the right one in 8 bits.
    """
    folder = tmp_path_factory.mktemp("operators")
    draw = np.random.default_rng(3)
    x = draw.uniform(-1, 1, (2, 3, 8, 8)).astype(np.float32)
    w = (draw.standard_normal((5, 3, 3, 3)) * 0.3).astype(np.float32)
    np.savez(folder / "inputs.npz", x=x)
    _save(
        folder / "float.onnx",
        [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
         helper.make_node("Relu", ["c"], ["y"], name="relu")],
        {"w": w}, TensorProto.FLOAT,
    )  # fmt: skip
    step = np.float32(2 / 255)
    out = isomorph.run(folder / "float.onnx", inputs=folder / "inputs.npz").tensors["y"]
    node = helper.make_node(
        "QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], name="conv"
    )
    for name, largest, sign in (("right", 64, 1), ("wrong", 64, -1), ("wide", 127, 1)):
        scales = (np.abs(w).max((1, 2, 3)) / largest).astype(np.float32)
        whole = np.rint(w / scales[:, None, None, None]).astype(np.int8)
        arrays = {
            "xs": step, "xz": np.uint8(128), "w": whole * np.int8(sign), "ws": scales,
            "wz": np.zeros(5, np.int8), "ys": np.float32(np.max(out) / 255), "yz": np.uint8(0),
        }  # fmt: skip
        _save(folder / f"{name}.onnx", [node], arrays, TensorProto.UINT8)
    return folder


def _save(path, nodes, arrays, kind):
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", kind, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", kind, [2, 5, 6, 6])],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in arrays.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize(("name", "verdict"), [("right", "degraded"), ("wrong", "divergent")])
def test_an_onnx_model_of_quantized_operators(operators, name, verdict):
    report = isomorph.check(
        operators / "float.onnx", operators / f"{name}.onnx", inputs=operators / "inputs.npz"
    )
    assert report.verdict.value == verdict, report.reason
    assert len(_interface(report)) == 2


def test_weights_of_eight_bits_are_as_right_as_the_cpu(operators, saturates):
    report = isomorph.check(
        operators / "float.onnx", operators / "wide.onnx", inputs=operators / "inputs.npz"
    )
    assert report.verdict.value == ("divergent" if saturates else "degraded"), report.reason
    found = [f for f in report.findings if "saturate at 16 bits" in f.summary]
    assert [(f.rank, f.node, f.cause) for f in found] == ([(1, "conv", "kernel")] * saturates)


@pytest.mark.parametrize(
    ("many", "share", "verdict"), [(4, "1.0%", "degraded"), (64, "16.7%", "divergent")]
)
def test_values_beyond_the_grid_are_reported(operators, many, share, verdict):
    """As few as chance cuts off of inputs like those of a calibration are a loss, many are not."""
    x = np.load(operators / "inputs.npz")["x"]
    x.reshape(-1)[:many] = 3.0
    report = isomorph.check(operators / "float.onnx", operators / "right.onnx", inputs={"x": x})
    clipped = [f for f in report.findings if f.code == "INPUT_CLIPPED"]
    assert len(clipped) == 1
    assert f"input 'x': {share} of the values" in clipped[0].summary
    assert report.verdict.value == verdict, report.reason


def test_recorded_floats_against_integers(operators):
    trace = isomorph.run(operators / "float.onnx", inputs=operators / "inputs.npz")
    np.savez(operators / "recorded.npz", y=trace.tensors["y"])
    x = np.load(operators / "inputs.npz")["x"]
    whole = np.clip(np.rint(x / np.float32(2 / 255)) + 128, 0, 255).astype(np.uint8)
    report = isomorph.check(
        operators / "recorded.npz", operators / "right.onnx", inputs={"x": whole}, budget=0.1
    )
    assert report.verdict.value == "equivalent", report.reason
    assert len(_interface(report)) == 1


def test_a_test_set_of_floats(operators):
    x = np.random.default_rng(5).uniform(-1, 1, (6, 3, 8, 8)).astype(np.float32)
    np.savez(operators / "many.npz", x=x)
    report = isomorph.check(
        operators / "float.onnx", operators / "right.onnx", data=operators / "many.npz"
    )
    assert report.verdict.value in {"degraded", "divergent"}
    (summary,) = report.test_set.outputs
    assert summary.worst_relative < 0.05


def test_the_command_line_shows_it(operators):
    words = ("float.onnx", "right.onnx", "--inputs", "inputs.npz", "--format", "json")
    done = command(operators, "check", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["verdict"] == "degraded"
