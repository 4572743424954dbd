"""SavedModels and graphs read without TensorFlow: what they are, and what they would do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.frameworks.onnx.file_structure import looks_like_model
from isomorph.frameworks.tensorflow.file_structure import (
    looks_like_graph,
    looks_like_saved_model,
    read_graph,
    read_saved_model,
)
from isomorph.frameworks.tensorflow.io_ops import refuse_io_in_graph, refuse_io_in_saved_model
from isomorph.frameworks.tensorflow.silence_logs import quietly
from tf_building import constant, graph, placeholder, tensorflow, two_headed, unary
from tf_building import saved as write

tf = tensorflow()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(two_headed(), tmp_path_factory.mktemp("wire") / "model")


@pytest.fixture
def plain():
    return graph(placeholder("x"), unary("y", "Relu", "x")).SerializeToString()


def test_each_format_is_known_and_no_other(folder, plain):
    saved_model = (folder / "saved_model.pb").read_bytes()
    big = graph(constant("w", np.zeros(100_000, np.float32)), unary("y", "Relu", "w"))
    for head in (plain, big.SerializeToString()[: 64 << 10]):
        assert looks_like_graph(head)
        assert not looks_like_saved_model(head)
        assert not looks_like_model(head)
    assert looks_like_saved_model(saved_model[:4096])
    assert not looks_like_graph(saved_model[:4096])


@pytest.mark.parametrize("head", [b"", b"\n", b"hello, world", b"{}", bytes(64), b"\x0a\x03abc"])
def test_other_bytes_are_neither(head):
    assert not looks_like_graph(head)
    assert not looks_like_saved_model(head)


def test_nodes_are_read_with_what_they_read_and_call(folder, plain):
    read = read_graph(plain)
    assert [(node.name, node.op, node.inputs) for node in read.nodes] == [
        ("x", "Placeholder", ()),
        ("y", "Relu", ("x",)),
    ]
    (meta,) = read_saved_model((folder / "saved_model.pb").read_bytes())
    calls = [node for node in meta.nodes if node.op == "StatefulPartitionedCall"]
    assert calls
    assert all(name in meta.functions for node in calls for name in node.functions)
    assert meta.savers


def test_a_saved_model_may_have_its_saver(folder):
    refuse_io_in_saved_model(folder / "saved_model.pb")


@pytest.mark.parametrize("op", ["ReadFile", "WriteFile"])
def test_file_operators_in_a_function_are_refused_by_name(op, tmp_path):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((), tf.string)])
        def serve(self, path):
            if op == "ReadFile":
                return {"y": tf.io.read_file(path)}
            tf.io.write_file("/nowhere", path)
            return {"y": tf.strings.length(path)}

    module = Module()
    with quietly():
        tf.saved_model.save(module, str(tmp_path), signatures=module.serve)
    with pytest.raises(RefusedError) as caught:
        refuse_io_in_saved_model(tmp_path / "saved_model.pb")
    assert caught.value.code == "IO_OP_IN_GRAPH"
    assert op in caught.value.where


def test_an_operator_of_the_saver_is_refused_where_a_signature_reaches_it(tmp_path):
    made = graph(
        constant("prefix", np.array(b"/etc/x", dtype=object)),
        ("r", "RestoreV2", ["prefix", "prefix", "prefix"], {}),
    )
    path = tmp_path / "m.pb"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(RefusedError, match="RestoreV2"):
        refuse_io_in_graph(path)


def test_printing_is_allowed_to_the_terminal_and_not_to_a_file(tmp_path):
    path = tmp_path / "m.pb"
    for stream, fine in (("stderr", True), ("file:///tmp/x", False)):
        made = graph(placeholder("x"), ("p", "PrintV2", ["x"], {"output_stream": stream}))
        path.write_bytes(made.SerializeToString())
        if fine:
            refuse_io_in_graph(path)
        else:
            with pytest.raises(RefusedError, match="PrintV2"):
                refuse_io_in_graph(path)


@pytest.mark.parametrize("share", [0.3, 0.66, 0.95])
def test_a_cut_file_reports_where(share, folder, tmp_path):
    data = (folder / "saved_model.pb").read_bytes()
    path = tmp_path / "saved_model.pb"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableModelError) as caught:
        refuse_io_in_saved_model(path)
    assert caught.value.code == "MODEL_TRUNCATED"
    assert "byte" in caught.value.where


def test_an_empty_file_is_called_empty(tmp_path):
    path = tmp_path / "saved_model.pb"
    path.write_bytes(b"")
    with pytest.raises(UnreadableModelError) as caught:
        refuse_io_in_saved_model(path)
    assert caught.value.code == "MODEL_EMPTY"


def test_random_bytes_never_break_the_reader(plain):
    rng = np.random.default_rng(0)
    for _ in range(300):
        noisy = bytearray(plain)
        for place in rng.integers(0, len(noisy), 3):
            noisy[place] = rng.integers(0, 256)
        looks_like_graph(bytes(noisy))
        looks_like_saved_model(bytes(noisy))


def test_nothing_here_imports_tensorflow():
    code = (
        "import sys, isomorph.frameworks.tensorflow.framework;"
        "import isomorph.frameworks.tensorflow.runtime;"
        "print([m for m in ('tensorflow', 'keras', 'h5py') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
