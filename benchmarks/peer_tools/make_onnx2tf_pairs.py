"""Pairs of onnx2tf: an ONNX file converted to TFLite, once with an exchange of two axes.

    python benchmarks/peer_tools/make_onnx2tf_pairs.py FOLDER

The fault is one that onnx2tf makes on request (a file of replaced parameters, one of its options):
height and width behind a Relu are exchanged, which changes no shape of a square image.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx

from peer_tools.pairs import Pair

# onnx2tf fetches these images from the network unless a file of that name lies where it runs.
IMAGES = "calibration_image_sample_data_20x128x128x3_float32.npy"
FAULT = "replaced.json"
_RELU = "node_relu_1"


def main() -> None:
    folder = Path(sys.argv[1])
    source = folder / "onnx_clean"
    for name, title, wrong in (
        ("onnx2tf_clean", "ONNX → TFLite by onnx2tf", False),
        ("onnx2tf_axes", "… height and width are exchanged behind a Relu", True),
    ):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        model = onnx.load(source / "model.onnx")
        onnx.save(model, place / "model.onnx")
        (place / "inputs.npz").write_bytes((source / "inputs.npz").read_bytes())
        images = np.random.default_rng(0).random((20, 128, 128, 3), dtype=np.float32)
        np.save(place / IMAGES, images)
        options = _written_fault(place, model) if wrong else []
        tool = str(Path(sys.executable).with_name("onnx2tf"))
        line = [tool, "-i", "model.onnx", "-o", "made", "-n", *options]
        subprocess.run(line, cwd=place, check=True, capture_output=True)
        Pair(
            name=name, title=title, reference="model.onnx", candidate="made/model_float32.tflite",
            inputs="inputs.npz", faulty=(_RELU, "relu_1") if wrong else (),
        ).write(place)  # fmt: skip


def _written_fault(place: Path, model: onnx.ModelProto) -> list[str]:
    (node,) = (node for node in model.graph.node if node.name == _RELU)
    change = {
        "op_name": node.name, "param_target": "outputs", "param_name": node.output[0],
        "post_process_transpose_perm": [0, 2, 1, 3],
    }  # fmt: skip
    facts = {"format_version": 1, "operations": [change]}
    (place / FAULT).write_text(json.dumps(facts), encoding="utf-8")
    return ["-prf", FAULT]


if __name__ == "__main__":
    main()
