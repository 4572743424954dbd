"""ONNX Runtime behind the one primitive: feed and fetch anywhere."""

import os

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.onnx import fetch_batches
from isomorph.frameworks.onnx import runtime as module
from isomorph.store import spill

FRAMEWORK, RUNTIME = registry.framework("onnx"), registry.runtime("onnxruntime")
HEAD = '<ir_version: 9, opset_import: ["" : 17]>'


def parsed(text, head=HEAD):
    return onnx.parser.parse_model(f"{head} {text}")


def opened(proto, **settings):
    model = FRAMEWORK.load(proto, {})
    return RUNTIME.open(model, Environment(runtime="onnxruntime", settings=settings))


def floats(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


CHAIN = (
    "g (float[2] x, float[2] u) => (float[2] y) <float[2] w = {1, 2}>"
    "{ k = Constant <value = float[2] {5, 6}> ()"
    "  a = Abs(x) b = Add(a, w) c = Mul(b, u) y = Sub(c, k) }"
)
X, U = np.array([-1, 2], np.float32), np.array([3, 4], np.float32)


def test_every_tensor_can_be_fetched_inputs_and_constants_too():
    result = opened(parsed(CHAIN)).run({"x": X, "u": U}, ["k", "x", "w", "a", "b", "c", "y"])
    assert list(result) == ["k", "x", "w", "a", "b", "c", "y"]
    assert result["w"].tolist() == [1, 2]
    assert result["k"].tolist() == [5, 6]
    assert result["b"].tolist() == [2, 4]
    assert result["y"].tolist() == [1, 10]


def test_what_is_fed_cuts_the_graph_so_that_nothing_above_is_needed():
    session = opened(parsed(CHAIN))
    assert session.run({"b": X, "u": U}, ["y"])["y"].tolist() == [-8, 2]
    assert session.run({"c": X}, ["y"])["y"].tolist() == [-6, -4]


def test_constants_can_be_replaced():
    session = opened(parsed(CHAIN))
    feeds = {"x": X, "u": U}
    assert session.run({**feeds, "w": U}, ["b"])["b"].tolist() == [4, 6]
    assert session.run({**feeds, "k": U}, ["y"])["y"].tolist() == [3, 12]


def test_the_same_cut_is_opened_once_and_only_a_few_are_kept():
    session = opened(parsed(CHAIN))
    for _ in range(3):
        session.run({"b": X, "u": U}, ["c"])
    assert len(session._pieces) == 1
    fetches = [
        ["a"],
        ["b"],
        ["c"],
        ["a", "b"],
        ["a", "c"],
        ["b", "c"],
        ["k"],
        ["a", "k"],
        ["b", "k"],
    ]
    for fetch in fetches:
        session.run({"x": X, "u": U}, fetch)
    assert len(session._pieces) == module.KEPT_PIECES


def test_outputs_come_from_the_deployed_session_and_no_cut(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(parsed(CHAIN).SerializeToString())
    session = opened(path)
    session.run({"x": X, "u": U}, ["y"])
    assert not session._pieces
    assert session.environment.facts["opened from"] == "the file as it is"


def test_a_missing_input_is_named():
    with pytest.raises(UsageError, match="'u'") as caught:
        opened(parsed(CHAIN)).run({"x": X}, ["y"])
    assert caught.value.code == "MISSING_INPUT"


def test_an_input_that_is_not_needed_need_not_be_fed():
    assert opened(parsed(CHAIN)).run({"x": X}, ["b"])["b"].tolist() == [2, 4]
    two = "g (float[1] p, float[1] q) => (float[1] y, float[1] z) { y = Neg(p) z = Neg(q) }"
    assert opened(parsed(two)).run({"p": X[:1]}, ["y"])["y"].tolist() == [1]


def test_a_wrong_element_type_is_never_converted_in_silence():
    with pytest.raises(UsageError, match="declared float32 and was fed float64"):
        opened(parsed(CHAIN)).run({"b": X.astype(np.float64), "u": U}, ["y"])


def test_unknown_names_and_noise_are_refused():
    session = opened(parsed(CHAIN))
    with pytest.raises(UsageError, match="'yy'"):
        session.run({"x": X, "u": U}, ["yy"])
    with pytest.raises(UsageError, match="oracle"):
        session.run({"x": X, "u": U}, ["y"], noise=Noise(seed=0))


LSTM_LIKE = parsed(
    "g (float[3,2,4] x) => (float[3,1,2,5] y) { y, h, c = LSTM <hidden_size = 5> (x, w, r) }"
)
LSTM_LIKE.graph.initializer.extend(
    [
        numpy_helper.from_array(floats(1, 20, 4, seed=1), "w"),
        numpy_helper.from_array(floats(1, 20, 5, seed=2), "r"),
    ]
)


def test_a_node_fed_all_its_inputs_weights_too_gives_its_own_outputs():
    session = opened(LSTM_LIKE, optimization="none")
    feeds = {"x": floats(3, 2, 4)}
    whole = session.run(feeds, ["w", "r", "y", "h", "c"])
    again = session.run({**feeds, "w": whole["w"], "r": whole["r"]}, ["y", "h", "c"])
    assert all(np.array_equal(again[name], whole[name]) for name in again)


BRANCH = (
    "g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> { h = Neg(x) z = If (c) <"
    "then_branch = t () => (float[2] p) { p = Add(h, w) },"
    "else_branch = e () => (float[2] q) { q = Identity(h) }> y = Abs(z) }"
)


def test_a_bare_number_is_an_array_without_axes():
    result = opened(parsed(BRANCH)).run({"x": X, "c": np.bool_(True)}, ["z"])
    assert result["z"].tolist() == [2, 0]


@pytest.mark.parametrize("condition", [True, False])
def test_a_body_that_reads_the_outer_scope_survives_a_cut(condition):
    session = opened(parsed(BRANCH))
    flag = np.array(condition)
    want = -X + np.array([1, 2]) if condition else -X
    assert np.array_equal(session.run({"x": X, "c": flag}, ["z"])["z"], want)
    assert np.array_equal(session.run({"h": -X, "c": flag}, ["z"])["z"], want)


def test_a_loop_body_reads_the_outer_scope_after_a_cut():
    text = (
        "g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}> { s = Mul(x, x)"
        "y = Loop (n, go, x) <body = b (int64 i, bool ci, float[2] v) => (bool co, float[2] vo)"
        "{ co = Identity(ci) vo = Add(v, s) }> }"
    )
    session = opened(parsed(text))
    assert np.array_equal(session.run({"x": X, "s": U}, ["y"])["y"], X + 3 * U)


def test_one_of_two_outputs_can_be_replaced_while_the_other_is_computed():
    text = (
        "g (float[4] x) => (float[1] a, int64[1] b) <int64[1] k = {1}>"
        "{ v, i = TopK(x, k) a = Neg(v) b = Neg(i) }"
    )
    feeds = {"x": np.array([0, 9, 3, 1], np.float32), "v": np.array([5], np.float32)}
    result = opened(parsed(text)).run(feeds, ["a", "b"])
    assert (result["a"].tolist(), result["b"].tolist()) == ([-5], [-1])


@pytest.mark.parametrize(
    "settings",
    [{"optimization": level} for level in ("none", "basic", "extended", "layout", "all")]
    + [{"disable_optimizers": "ConstantFolding,MatMulAddFusion"}, {"threads": "1"}]
    + [{"deterministic": "yes"}],
)
def test_settings_are_accepted_completed_and_do_not_change_the_meaning(settings):
    session = opened(parsed(CHAIN), **settings)
    assert session.run({"x": X, "u": U}, ["y"])["y"].tolist() == [1, 10]
    assert session.environment.settings == {**RUNTIME.settings, **settings}
    assert session.environment.threads == (1 if "threads" in settings else None)


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"optimisation": "all"}, "optimization"),
        ({"optimization": "al"}, "all"),
        ({"providers": "CUDAExecutionProvder"}, "CUDAExecutionProvider"),
        ({"threads": "many"}, None),
        ({"deterministic": "maybe"}, None),
        ({"custom_ops": "absent.so"}, None),
    ],
)
def test_words_that_are_not_understood_are_errors(settings, fix):
    with pytest.raises(UsageError) as caught:
        opened(parsed(CHAIN), **settings)
    assert caught.value.code == "BAD_SETTING"
    assert fix is None or fix in caught.value.fix


def test_a_provider_that_is_not_there_shows_in_the_facts():
    import onnxruntime

    asked = "CUDAExecutionProvider"
    if asked in onnxruntime.get_available_providers():
        pytest.skip("this machine has it")
    facts = opened(parsed(CHAIN), providers="cuda").environment.facts
    assert facts["providers asked"] == asked
    assert facts["providers used"] == "CPUExecutionProvider"


def test_an_unknown_domain_is_refused_with_all_that_is_needed():
    head = '<ir_version: 9, opset_import: ["" : 17, "com.example" : 3]>'
    text = "g (float[2] x) => (y) { [one] a = com.example.Odd(x) [two] y = com.example.Odd(a) }"
    with pytest.raises(UnreadableModelError) as caught:
        opened(parsed(text, head))
    error = caught.value
    assert error.code == "UNSUPPORTED_OP"
    for word in ("Odd", "com.example", "3"):
        assert word in error.what
    assert "one, two" in error.where
    assert "custom_ops" in error.fix


def test_a_known_operator_without_a_kernel_is_refused_by_name():
    text = "g (string[2] x) => (string[2] y) { [sorry] y = Identity(x) z = Det(w) }"
    proto = parsed(text)
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.DOUBLE, [2, 2]))
    with pytest.raises(RuntimeFailedError, match="Det") as caught:
        opened(proto)
    assert caught.value.code == "UNSUPPORTED_OP"


def test_a_run_that_fails_names_the_node():
    text = "g (float[2,3] x, int64[2] s) => (y) { [fold] y = Reshape(x, s) }"
    with pytest.raises(RuntimeFailedError, match="fold") as caught:
        opened(parsed(text)).run({"x": floats(2, 3), "s": np.array([4, 4])}, ["y"])
    assert caught.value.code == "RUNTIME_FAILED"


def test_duplicate_node_names_are_run_from_a_renamed_copy():
    session = opened(parsed("g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] y = Neg(a) }"))
    assert session.run({"x": X}, ["y"])["y"].tolist() == [-1, -2]
    assert session.run({"x": X}, ["a"])["a"].tolist() == [1, 2]
    assert "renamed" in session.environment.facts["opened from"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn"])
def test_small_floats_go_in_and_come_out(dtype):
    number = {"bfloat16": "BFLOAT16", "float16": "FLOAT16", "float8_e4m3fn": "FLOAT8E4M3FN"}[dtype]
    kind = getattr(TensorProto, number)
    nodes = [helper.make_node("Identity", ["x"], ["m"]), helper.make_node("Identity", ["m"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, [3])],
        [helper.make_tensor_value_info("y", kind, [3])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    values = np.array([1, -2, 0.5]).astype(getattr(ml_dtypes, dtype, dtype))
    session = opened(proto, optimization="none")
    result = session.run({"x": values}, ["m", "y"])
    assert result["m"].dtype == values.dtype
    assert np.array_equal(result["m"], values)
    assert np.array_equal(session.run({"m": values}, ["y"])["y"], values)


def test_four_bit_outputs_are_unpacked():
    text = (
        "g (float[3] x) => (float[3] y) <float s = {0.5}>"
        "{ q = QuantizeLinear <output_dtype = 22> (x, s) y = DequantizeLinear(q, s) }"
    )
    session = opened(parsed(text, '<ir_version: 10, opset_import: ["" : 21]>'))
    result = session.run({"x": np.array([1, -2, 3], np.float32)}, ["q", "y"])
    assert result["q"].dtype == ml_dtypes.int4
    assert result["q"].astype(int).tolist() == [2, -4, 6]
    assert result["y"].tolist() == [1, -2, 3]


def test_strings_sequences_and_optionals_come_out_and_sequences_go_in():
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["seq"]),
        helper.make_node("ConcatFromSequence", ["seq"], ["y"], axis=0),
        helper.make_node("Optional", ["x"], ["some"]),
        helper.make_node(
            "Optional", [], ["none"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        ),
        helper.make_node("Identity", ["words"], ["same"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [2]), value("words", TensorProto.STRING, [2])],
        [value("y", TensorProto.FLOAT, [4])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = opened(proto)
    feeds = {"x": X, "words": np.array(["a", "b"], object)}
    result = session.run(feeds, ["seq", "y", "some", "none", "same"])
    assert [item.tolist() for item in result["seq"]] == [[-1, 2], [-1, 2]]
    assert result["some"].tolist() == [-1, 2]
    assert result["none"] is None
    assert result["same"].tolist() == ["a", "b"]
    assert session.run({"seq": [X, U]}, ["y"])["y"].tolist() == [-1, 2, 3, 4]


def test_batches_give_the_same_tensors_from_disk_and_run_each_node_once(monkeypatch):
    steps = " ".join(f"t{i + 1} = Sin(t{i})" for i in range(20))
    text = f"g (float[64,64] t0) => (t20) {{ {steps} }}"
    names = [f"t{i}" for i in range(1, 21)]
    feeds = {"t0": floats(64, 64)}
    whole = opened(parsed(text)).run(feeds, names)
    monkeypatch.setattr(spill, "BYTE_BUDGET", 3 * 64 * 64 * 4)
    session = opened(parsed(text))
    sizes, open_piece = [], session._open_piece

    def counted(piece, feeds, fetch):
        sizes.append((len(piece.nodes), len(fetch)))
        return open_piece(piece, feeds, fetch)

    session._open_piece = counted
    parts = session.run(feeds, names)
    assert list(parts) == names
    assert all(np.array_equal(parts[name], whole[name]) for name in names)
    assert all(isinstance(parts[name], np.memmap) for name in names)
    assert sizes == [(3, 3)] * 6 + [(2, 2)]
    assert not session._pieces, "pieces of a capture in batches let go of their memory"


def test_estimates_bind_named_axes_and_guess_unknown_ones_high():
    model = FRAMEWORK.load(parsed('g (float["n",3] x) => (y) { y = Relu(x) }'), {})
    specs = model.graph.tensors
    sizes, largest = fetch_batches.bound_sizes(specs, {"x": floats(50, 3)})
    assert sizes == {"n": 50}
    assert fetch_batches.estimated_bytes(specs["y"], sizes, largest) == 50 * 3 * 4
    assert fetch_batches.estimated_bytes(None, sizes, largest) == 50 * 50 * 4


def test_external_weights_of_bodies_and_cuts_are_found(tmp_path, monkeypatch):
    proto = parsed(BRANCH)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    path = tmp_path / "model" / "m.onnx"
    path.parent.mkdir()
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    session = opened(path.relative_to(tmp_path))
    assert session.run({"x": X, "c": np.array(True)}, ["z"])["z"].tolist() == [2, 0]


def test_a_file_name_that_is_not_unicode(tmp_path):
    path = tmp_path / os.fsdecode(b"m\xff") / os.fsdecode(b"m\xfe.onnx")
    path.parent.mkdir()
    proto = parsed(CHAIN)
    weight = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    proto.graph.initializer[0].CopyFrom(weight)
    onnx.external_data_helper.set_external_data(proto.graph.initializer[0], "w.bin")
    (path.parent / "w.bin").write_bytes(weight.raw_data)
    proto.graph.initializer[0].ClearField("raw_data")
    path.write_bytes(proto.SerializeToString())
    session = opened(path)
    assert session.run({"x": X, "u": U}, ["y", "b"])["y"].tolist() == [1, 10]
