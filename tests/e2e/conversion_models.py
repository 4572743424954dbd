"""Small models to convert, and files that converters write wrongly; run as a script, into a folder.

The wrong files are made as a user would make them, without isomorph: they finish without an error.
"""

import logging
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

BRANCHY = """
import torch


class PythonIf(torch.nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            return x * 2
        return x + 1


def make():
    return PythonIf().eval(), (torch.linspace(0.1, 1.0, 10),)
"""


def torch_models(folder):
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))

    class Lstm(nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.recurrent = nn.LSTM(4, hidden, batch_first=True)
            self.head = nn.Linear(hidden, 3)

        def forward(self, x):
            return self.head(self.recurrent(x)[0][:, -1])

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

        def forward(self, x):
            return self.layer(x).mean(1)

    torch.backends.mha.set_fastpath_enabled(False)
    # As many steps as units: nobody who goes by sizes can tell the two axes apart.
    sequences = {"lstm": (Lstm(6), 4), "equal": (Lstm(5), 4), "encoder": (Encoder(), 8)}
    for name, (module, width) in sequences.items():
        exported = torch.export.export(module.eval(), (torch.randn(2, 5, width),))
        torch.export.save(exported, folder / f"{name}.pt2")
    module, example = Cnn().eval(), (torch.randn(2, 3, 8, 8),)
    torch.export.save(torch.export.export(module, example), folder / "cnn.pt2")
    torch.onnx.export(
        module, example, folder / "cnn.onnx", dynamo=False, input_names=["x"], opset_version=17
    )
    (folder / "branchy.py").write_text(BRANCHY)
    sys.path.insert(0, str(folder))
    import branchy

    module, example = branchy.make()
    torch.onnx.export(module, example, folder / "branchy.onnx", dynamo=False, input_names=["x"])


def keras_models(folder):
    import keras
    import numpy as np
    from keras import layers

    keras.utils.set_random_seed(0)
    stack = [layers.Conv2D(8, 3, activation="relu"), layers.Conv2D(8, 3, activation="relu"),
             layers.GlobalAveragePooling2D(), layers.Dense(5)]  # fmt: skip
    keras.Sequential([keras.Input((10, 10, 3), name="x"), *stack]).save(folder / "cnn.keras")
    recurrent = [keras.Input((4, 3), name="x"), layers.LSTM(6), layers.Dense(2)]
    model = keras.Sequential(recurrent)
    model.save(folder / "lstm.keras")
    # Its batch has no size, and the bodies of its loop were traced without one.
    model.export(folder / "lstm", verbose=False)
    draw = np.random.default_rng(3)
    for name in ("good", "bad"):
        (folder / name).mkdir()
        for number in range(8):
            x = draw.standard_normal((1, 10, 10, 3)).astype(np.float32)
            if name == "bad" and number == 3:
                x[0, 0, 0, 0] = 1000.0
            np.savez(folder / name / f"{number}.npz", x=x)


def wrong_conversions(folder):
    import keras
    import tensorflow as tf

    # Exact GELU is an Erfc, which tf2onnx logs as an error and writes all the same.
    spec = tf.TensorSpec([None, 6], tf.float32, name="x")
    gelu = tf.function(lambda x: {"y": tf.nn.gelu(x, approximate=False)}, input_signature=[spec])
    tf.saved_model.save(tf.Module(), str(folder / "gelu"), signatures=gelu)
    import tf2onnx

    logging.getLogger("tf2onnx").setLevel(logging.CRITICAL)
    tf2onnx.convert.from_function(
        gelu, input_signature=[spec], opset=17, output_path=str(folder / "gelu.onnx")
    )
    # With the model beside it, the function keeps its variables, and they reach TFLite empty.
    model = keras.Sequential([keras.Input((6,), name="x"), keras.layers.Dense(4)])
    model.save(folder / "dense.keras")
    function = tf.function(model).get_concrete_function(tf.TensorSpec([2, 6], tf.float32, name="x"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], model)
    (folder / "dense.tflite").write_bytes(converter.convert())


def left_to_itself(folder):
    """What onnx2tf makes of a picture when nobody tells it to keep the order of the axes."""
    import numpy as np
    import onnx2tf

    # It would be downloaded otherwise.
    name = "calibration_image_sample_data_20x128x128x3_float32.npy"
    pictures = np.random.default_rng(0).random((20, 128, 128, 3), dtype=np.float32)
    os.chdir(folder)
    np.save(folder / name, pictures)
    # It writes to the file that it reads.
    copy = folder / "cnn_copy.onnx"
    copy.write_bytes((folder / "cnn.onnx").read_bytes())
    onnx2tf.convert(
        input_onnx_file_path=str(copy), output_folder_path=str(folder / "turned"),
        non_verbose=True, verbosity="error",
    )  # fmt: skip
    (folder / name).unlink()


def underscored(folder):
    """The same network; its tensors have names on which onnx2tf ends the whole process."""
    import onnx

    model = onnx.load(folder / "cnn.onnx")
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [name and f"_{name}" for name in names]
    for each in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        each.name = f"_{each.name}"
    del model.graph.value_info[:]
    onnx.save(model, folder / "underscored.onnx")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    torch_models(place)
    keras_models(place)
    wrong_conversions(place)
    left_to_itself(place)
    underscored(place)
