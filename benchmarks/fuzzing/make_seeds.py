"""Writes the intact files that fuzzing begins with: ``python -m benchmarks.fuzzing.make_seeds``

They stand in ``seeds/``, a folder for each reader, so that a run needs no framework. All of them
are small, because a changed byte of a small file rather hits something that a reader decides on.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
SEEDS = Path(__file__).parent / "seeds"
DATE = (1980, 1, 1, 0, 0, 0)


def _onnx(folder: Path) -> None:
    from onnx import helper, numpy_helper, parser

    text = """<ir_version: 9, opset_import: ["": 18], metadata_props: ["key": "value"]>
    net (float[batch, 3] x, bool flag) => (float[batch, 2] y)
    <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
      [product] t = MatMul (x, w)
      [branch] y = If (flag) <
        then_branch = then () => (float[batch, 2] p) { p = Relu (t) },
        else_branch = other () => (float[batch, 2] q) { q = Elu <alpha: float = 0.5> (t) }>
    }"""
    model = parser.parse_model(text)
    (folder / "branch.onnx").write_bytes(model.SerializeToString())
    made = parser.parse_model("""<ir_version: 9, opset_import: ["": 18, "own": 1]>
    net (float[2, 4] x) => (float[2, 4] y) { c = Constant <value = float[4] {1, 2, 3, 4}> ()
      t = Add (x, c)  u = Reshape <allowzero: int = 0> (t, s)  y = own.twice (u) }
    <domain: "own", opset_import: ["": 18]> twice (a) => (b) { b = Add (a, a) }""")
    made.graph.initializer.append(numpy_helper.from_array(np.array([2, 4]), "s"))
    (folder / "function.onnx").write_bytes(made.SerializeToString())
    pair = folder / "external"
    pair.mkdir()
    weights = np.arange(32, dtype=np.float32)
    tensor = numpy_helper.from_array(weights.reshape(4, 8), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    for key, word in (("location", "w.bin"), ("offset", "0"), ("length", "128")):
        tensor.external_data.add(key=key, value=word)
    graph = parser.parse_graph("g (float[2, 4] x) => (float[2, 8] y) { y = MatMul (x, w) }")
    graph.initializer.append(tensor)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (pair / "model.onnx").write_bytes(whole.SerializeToString())
    (pair / "w.bin").write_bytes(weights.tobytes())


def _tflite(folder: Path) -> None:
    from tflite_building import Building, small

    (folder / "network.tflite").write_bytes(small().data())
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (2,)), graph.tensor("y", (2,))
    graph.op("LOGISTIC", [x], [y])
    graph.ends([x], [y])
    (folder / "one.tflite").write_bytes(model.data())


def _executorch(folder: Path) -> None:
    import torch

    from executorch_programs import exported, lowered

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    program = exported(net, (torch.ones(2, 3),))
    (folder / "portable.pte").write_bytes(lowered(program))
    (folder / "xnnpack.pte").write_bytes(lowered(program, xnnpack=True))


def _coreml(folder: Path) -> None:
    from coreml_building import one, small_package

    (folder / "one.mlmodel").write_bytes(one("relu", (2,), x="x"))
    small_package(folder / "network.mlpackage")


def _openvino(folder: Path) -> None:
    from openvino_building import Net, network

    (folder / "network").mkdir()
    network(folder / "network" / "model.xml")
    (folder / "one").mkdir()
    net = Net()
    w = net.constant("w", np.arange(6, dtype=np.float32).reshape(3, 2))
    net.result(
        net.op(
            "y",
            "MatMul",
            [net.parameter("x", (2, 3)), w],
            (2, 2),
            transpose_a="false",
            transpose_b="false",
        )
    )
    net.write(folder / "one" / "model.xml")


def _jax(folder: Path) -> None:
    import jax

    from jax_building import exported

    (folder / "one.jax").write_bytes(exported(lambda x: jax.numpy.tanh(x) * 2, (2, 3)))


def _pytorch(folder: Path) -> None:
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(net, (torch.ones(2, 3),)), folder / "net.pt2")
        torch.jit.save(torch.jit.trace(net, torch.ones(2, 3)), folder / "script.pt")
        torch.save({"w": torch.ones(2)}, folder / "state.pt")
        torch.save({"w": torch.ones(2)}, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    for each in ("net.pt2", "script.pt"):
        _rezipped(folder / each)


def _anywhere(data: bytes) -> bytes:
    """The bytes with other folders of the same length in the place of this machine's."""
    for folder in (ROOT, Path(sys.base_prefix), Path.home()):
        name = str(folder).encode()
        data = data.replace(name, b"/".ljust(len(name), b"x"))
    return data


def _rezipped(path: Path) -> None:
    """The same members without debug files, examples and alignment, which are most of the bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if not name.endswith((".debug_pkl", "sample_inputs/model.pt")):
                archive.writestr(zipfile.ZipInfo(name, DATE), _anywhere(data))


def _tensorflow(folder: Path) -> None:
    from tf_building import graph, placeholder, saved, tensorflow, unary

    tensorflow()
    import keras

    keras.utils.set_random_seed(0)
    given = keras.Input((3,), name="given")
    model = keras.Model(given, keras.layers.Dense(2, name="dense")(given))
    saved(model, folder / "net.keras")
    saved(model, folder / "net.h5")
    nodes = placeholder("x"), unary("y", "Tanh", "x")
    (folder / "graph.pb").write_bytes(graph(*nodes).SerializeToString(deterministic=True))
    saved(model, folder / "saved")
    for each in ("fingerprint.pb", "assets"):
        path = folder / "saved" / each
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _hugging_face(folder: Path) -> None:
    from safetensors.numpy import save_file

    model = folder / "folder"
    model.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": 16,
        "max_position_embeddings": 16,
    }
    (model / "config.json").write_text(json.dumps(config))
    save_file({"model.norm.weight": np.ones(8, np.float32)}, model / "model.safetensors")
    import gguf

    writer = gguf.GGUFWriter(folder / "one.gguf", "llama")
    writer.add_block_count(1)
    writer.add_tensor("token_embd.weight", np.ones((16, 8), np.float32))
    for step in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
        writer.close,
    ):
        step()


def _arrays(folder: Path) -> None:
    from isomorph.store.input_files import write_arrays

    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "labels": np.array(["a", "bc"])}
    write_arrays(folder / "two.npz", arrays)
    write_arrays(folder / "one.safetensors", {"x": arrays["x"], "n": np.array(3)})
    np.save(folder / "one.npy", arrays["x"])
    np.savez_compressed(folder / "packed.npz", x=arrays["x"])


def _texts(folder: Path) -> None:
    (folder / "project").mkdir()
    (folder / "project" / "isomorph.toml").write_text(_PROJECT, encoding="utf-8")
    (folder / "baseline").mkdir()
    (folder / "baseline" / "isomorph-baseline.toml").write_text(_BASELINE, encoding="utf-8")
    (folder / "sweep").mkdir()
    (folder / "sweep" / "sweep.toml").write_text(_SWEEP, encoding="utf-8")
    for name in ("a.onnx", "b.onnx"):
        (folder / "sweep" / name).write_bytes(b"model")


def _records(folder: Path) -> None:
    """A trace, a store of a sweep, and a report of this version, as the commands write them."""
    from onnx import parser

    from isomorph import check, sweep, trace
    from isomorph.reporters.json import JsonReporter
    from isomorph.store.trace_files import save_record

    os.chdir(folder)  # no path of this machine gets into what is written
    small = folder / "a.onnx"
    words = (
        '<ir_version: 9, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    )
    small.write_bytes(parser.parse_model(words).SerializeToString())
    other = folder / "b.onnx"
    other.write_bytes(parser.parse_model(words.replace("Relu", "Softplus")).SerializeToString())
    (folder / "report").mkdir()
    report = check(small.name, other.name)
    (folder / "report" / "divergent.json").write_text(JsonReporter().render(report))
    record = trace(small.name)
    assert record.oracle is not None
    first = dict(sorted(record.oracle.draws.items())[:1])
    one_draw = replace(record, oracle=replace(record.oracle, draws=first))
    save_record(one_draw, folder / "trace")
    lines = ["[models.m]", 'reference = "a.onnx"', 'candidate = "a.onnx"', 'store = "store"']
    (folder / "sweep.toml").write_text("\n".join([lines[3], *lines[:3]]))
    sweep(folder / "sweep.toml")
    index = sqlite3.connect(folder / "store" / "index.sqlite")
    index.execute("PRAGMA journal_mode = DELETE")
    index.execute("VACUUM")
    index.close()
    for each in ("lock", "running"):
        path = folder / "store" / each
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for each in (small, other, folder / "sweep.toml"):
        each.unlink()
    for each in (folder / "store" / "reports").iterdir():
        each.write_text(each.read_text().replace(f"{folder}{os.sep}", ""))


_PROJECT = """baseline = "accepted.toml"
[environments.plain]
runtime = { reference = "onnxruntime", candidate = "tflite" }
settings = { optimization = "none" }
[pairs.net]
reference = "a.onnx"
candidate = "b.tflite"
environments = ["plain"]
inputs = "x.npz"
dims = { batch = 2 }
budget = { y = 1e-3 }
layouts = { y = [0, 2, 1] }
strict = true
timeout = 60.5
"""
_SWEEP = """store = "results"
verb = "check"
seeds = [0, 1]
include = [{ model = "*" }]
exclude = [{ environment = "plain", shard = "b*" }]
[models.net]
reference = "{stem}.onnx"
candidate = "*.onnx"
dims = { batch = 2 }
[models.one]
reference = "a.onnx"
candidate = "b.onnx"
[environments.usual]
[environments.plain]
settings = { optimization = "none" }
[shards.first]
inputs = "x.npz"
"""
_BASELINE = """[[accepted]]
pair = "net"
output = "y"
max_abs = 0.5
nonfinite = 0
causes = ["precision"]
nodes = ["conv"]
why = "measured"
who = "somebody"
when = 2026-01-31
until = "2027-01-31"
"""

MAKERS: dict[str, Callable[[Path], Any]] = {
    "onnx": _onnx,
    "tflite": _tflite,
    "executorch": _executorch,
    "coreml": _coreml,
    "openvino": _openvino,
    "jax": _jax,
    "pytorch": _pytorch,
    "tensorflow": _tensorflow,
    "hugging_face": _hugging_face,
    "arrays": _arrays,
    "texts": _texts,
    "records": _records,
}


def main(names: list[str]) -> None:
    """Write the seeds of these makers anew; of all without a name."""
    for folder in ("contract", "support"):
        sys.path.insert(0, str(ROOT / "tests" / folder))
    for name in names or MAKERS:
        target = SEEDS / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        MAKERS[name](target)
        files = [each for each in target.rglob("*") if each.is_file()]
        for each in files:
            if not zipfile.is_zipfile(each):  # those have checksums
                each.write_bytes(_anywhere(each.read_bytes()))
        size = sum(each.stat().st_size for each in files)
        print(f"{name}: {size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
