"""The adapter as a whole: what it takes, how fast, and at what cost in memory."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.trace import Environment
from line_counts import lines_run

FRAMEWORK = registry.framework("onnx")
TEXT = (
    '<ir_version: 9, opset_import: ["" : 17], producer_name: "maker", producer_version: "2">'
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
)


def test_paths_bytes_and_protos_give_the_same_description(tmp_path):
    proto = onnx.parser.parse_model(TEXT)
    proto.metadata_props.add(key="license", value="none")
    path = tmp_path / "m.bin"
    path.write_bytes(proto.SerializeToString())
    from_path = FRAMEWORK.load(path, {})
    assert from_path.graph == FRAMEWORK.load(str(path), {}).graph
    assert from_path.graph == FRAMEWORK.load(path.read_bytes(), {}).graph
    assert from_path.graph == FRAMEWORK.load(proto, {}).graph
    assert from_path.producer == "maker 2"
    assert from_path.opset == {"": 17}
    assert from_path.metadata == {"license": "none"}


def test_live_models_are_claimed_and_handed_over_as_a_file(tmp_path):
    proto = onnx.parser.parse_model(TEXT)
    assert FRAMEWORK.claims(proto)
    assert FRAMEWORK.claims(proto.SerializeToString())
    assert not FRAMEWORK.claims(b"PK\x03\x04")
    assert not FRAMEWORK.claims(42)
    path = FRAMEWORK.hand_over(proto, {}, tmp_path)
    assert FRAMEWORK.load(path, {}).graph == FRAMEWORK.load(proto, {}).graph


def test_anything_else_is_refused_with_what_would_do():
    with pytest.raises(UsageError, match="cannot read a int"):
        FRAMEWORK.load(42, {})


def test_the_digest_covers_weights_beside_the_file(tmp_path):
    proto = onnx.parser.parse_model(TEXT)
    weight = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    proto.graph.initializer[0].CopyFrom(weight)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    before = FRAMEWORK.load(path, {})
    data = bytearray((tmp_path / "w.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "w.bin").write_bytes(data)
    assert FRAMEWORK.load(path, {}).digest != before.digest


def _chain(count):
    nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"]) for i in range(count)]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("t0", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info(f"t{count}", TensorProto.FLOAT, ["n", 4])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return proto.SerializeToString()


def test_four_times_the_nodes_are_at_most_four_times_the_work_to_describe():
    before, after = (
        lines_run(lambda data=data: FRAMEWORK.load(data, {}))
        for data in (_chain(250), _chain(1000))
    )
    assert after <= 4 * before


def test_a_chain_of_ten_thousand_nodes_is_described():
    model = FRAMEWORK.load(_chain(10_000), {})
    assert len(model.graph.nodes) == 10_000
    assert model.graph.tensors["t5000"].shape == ("n", 4)


def test_a_model_over_two_gigabytes_is_read_cut_and_run_without_copies(tmp_path):
    rows = 4_400_000
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (int64["n"] i) => (float["n",128] y)'
        "{ a = Gather(table, i) b = Relu(a) y = Neg(b) }"
    )
    table = proto.graph.initializer.add(name="table", data_type=TensorProto.FLOAT, dims=[rows, 128])
    table.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "table.bin"), ("offset", "4096")):
        table.external_data.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    row = np.arange(128, dtype=np.float32)
    with (tmp_path / "table.bin").open("wb") as file:
        file.truncate(4096 + rows * 512)  # a hole: it takes no space on disk
        file.seek(4096 + 7 * 512)
        file.write(row.tobytes())
    before = _private_bytes()
    model = FRAMEWORK.load(tmp_path / "m.onnx", {})
    session = registry.runtime("onnxruntime").open(model, Environment(runtime="onnxruntime"))
    feeds = {"i": np.array([7, 0])}
    assert np.array_equal(session.run(feeds, ["y"])["y"][0], -row)
    assert np.array_equal(session.run(feeds, ["a", "b"])["b"][0], row)
    assert isinstance(session.run({}, ["table"])["table"], np.memmap)
    assert _private_bytes() - before < 500 << 20


def _private_bytes():
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) << 10
