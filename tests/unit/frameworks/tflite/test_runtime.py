"""LiteRT: deployed and captured runs agree, state never leaks, and failures name the operator."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tflite.framework import TfliteFramework
from isomorph.frameworks.tflite.runtime import TfliteRuntime
from isomorph.store import spill
from tflite_building import TYPES, Building, small, unknown

MODELS = ["cnn", "dynamic", "float16", "int8", "lstm", "branches"]
WAYS = [{}, {"xnnpack": "off"}, {"kernels": "reference"}]


def load(source):
    return TfliteFramework().load(source if isinstance(source, bytes) else str(source), {})


def opened(model, **settings):
    return TfliteRuntime().open(model, Environment(runtime="tflite", settings=settings))


def feeds_of(graph, batch=1):
    rng = np.random.default_rng(7)
    found = {}
    for spec in graph.inputs:
        shape = tuple(batch if size is None else size for size in spec.shape)
        if spec.dtype == "int32":
            found[spec.name] = np.full(shape, 3, np.int32)
        elif spec.dtype == "int8":
            found[spec.name] = rng.integers(-100, 100, shape).astype(np.int8)
        else:
            found[spec.name] = rng.normal(size=shape).astype(np.float32)
    return found


def tensors(model):
    return [name for node in model.graph.nodes for name in node.outputs]


def outputs(model):
    return [spec.name for spec in model.graph.outputs]


def equal(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_capturing_everything_changes_no_bit_of_the_outputs(converted, name, settings):
    model = load(converted / f"{name}.tflite")
    session = opened(model, **settings)
    for batch in (1, 3):
        feeds = feeds_of(model.graph, batch)
        deployed = session.run(feeds, outputs(model))
        captured = session.run(feeds, [*outputs(model), *tensors(model)])
        assert all(equal(deployed[each], captured[each]) for each in deployed)


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_every_node_alone_gives_what_it_gave_in_the_whole(converted, name, settings):
    model = load(converted / f"{name}.tflite")
    session = opened(model, **settings)
    feeds = feeds_of(model.graph)
    whole = {**feeds, **session.run(feeds, tensors(model))}
    for node in model.graph.nodes:
        inner = {each: whole[each] for each in node.inputs if each in whole}
        alone = session.run(inner, node.outputs)
        assert all(equal(alone[each], whole[each]) for each in node.outputs), node.name


@pytest.mark.parametrize("name", MODELS)
def test_all_ways_of_running_agree_at_every_tensor(converted, name):
    """Memory that a delegate never wrote would be far off."""
    model = load(converted / f"{name}.tflite")
    feeds = feeds_of(model.graph)
    runs = [opened(model, **settings).run(feeds, tensors(model)) for settings in WAYS]
    for each in tensors(model):
        near = 2 if runs[0][each].dtype == np.int8 else 1e-5
        for other in runs[1:]:
            gap = np.abs(runs[0][each].astype(float) - other[each].astype(float))
            assert gap.max(initial=0) <= near, each


def test_weights_that_xnnpack_unpacks_for_itself_are_fetched_all_the_same(converted):
    model = load(converted / "float16.tflite")
    node = model.graph.nodes[0]
    assert node.op == "DequantizeLinear"
    session = opened(model)
    stored, unpacked = session.run({}, [*node.inputs, *node.outputs]).values()
    assert equal(unpacked, stored.astype(np.float32))


def test_a_variable_begins_every_run_anew(converted):
    model = load(converted / "counter.tflite")
    session = opened(model)
    x = {"x": np.array([[0.0, 1.0, -1.0, 5.0]], np.float32)}
    expected = 2 * (1 + np.tanh(x["x"]))
    for _ in range(3):
        assert np.allclose(session.run(x, ["sum"])["sum"], expected, atol=1e-6)
    captured = session.run(x, tensors(model))
    assert np.allclose(captured["sum"], expected, atol=1e-6)
    assert captured["AssignAddVariableOp"].tolist() == [[1.0] * 4], "the value before"
    assert captured["total"] is None, "a handle has no value"


def test_a_run_from_the_middle_takes_the_variables_of_its_own_run(converted):
    session = opened(load(converted / "counter.tflite"))
    fed = {"Tanh": np.full((1, 4), 4.0, np.float32), "total": None}
    assert session.run(fed, ["sum"])["sum"].tolist() == [[10.0] * 4]
    with pytest.raises(UsageError) as caught:
        session.run({"total": None}, ["sum"])
    assert caught.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError) as caught:
        session.run({"total": np.ones((1, 4), np.float32)}, ["sum"])
    assert caught.value.code == "FEED_DTYPE"


def svdf():
    """A state tensor: the memory of a filter over time."""
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (1, 2))
    feature = graph.tensor("feature", (3, 2), value=np.arange(6))
    time = graph.tensor("time", (3, 2), value=np.ones(6))
    state, y = graph.tensor("state", (1, 6), variable=True), graph.tensor("y", (1, 3))
    graph.op("SVDF", [x, feature, time, -1, state], [y], "SVDF", rank=1)
    return load(graph.ends([x], [y]).model.data())


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_state_tensors_begin_at_zero_or_at_what_is_fed(settings):
    session = opened(svdf(), **settings)
    x = {"x": np.ones((1, 2), np.float32)}
    first = session.run(x, ["y"])["y"]
    assert equal(session.run(x, ["y"])["y"], first)
    assert session.run(x, ["state"])["state"].tolist() == [[0.0] * 6]
    later = session.run({**x, "state": np.ones((1, 6), np.float32)}, ["y"])["y"]
    assert later.tolist() == (first + 1).tolist()
    assert equal(session.run(x, ["y"])["y"], first)


def test_a_loop_writes_even_the_outputs_that_nobody_reads(converted):
    model = load(converted / "branches.tflite")
    session = opened(model)
    loop = next(node for node in model.graph.nodes if node.op == "Loop")
    count, _, limit = session.run(feeds_of(model.graph), loop.outputs).values()
    assert (count.item(), limit.item()) == (3, 3)


def test_both_branches_are_taken(converted):
    model = load(converted / "branches.tflite")
    session = opened(model)
    for sign in (1, -1):
        x = np.full((2, 4), sign * 0.5, np.float32)
        found = session.run({"x": x, "n": np.int32(0)}, ["result", "same"])
        expected = np.exp(x) if sign > 0 else np.abs(x)
        assert np.allclose(found["result"], expected, rtol=1e-6)
        assert equal(found["same"], x)


def test_one_session_serves_changing_sizes(converted):
    model = load(converted / "cnn.tflite")
    session = opened(model)
    runs = {}
    for batch in (4, 1, 4, 2):
        feeds = feeds_of(model.graph, batch)
        runs[batch] = session.run(feeds, outputs(model))["output_0"]
        assert runs[batch].shape == (batch, 5)
        alone = opened(model).run(feeds, outputs(model))["output_0"]
        assert equal(runs[batch], alone)


def test_constants_are_fetched_and_may_be_replaced():
    model = load(small().data())
    session = opened(model)
    feeds = feeds_of(model.graph)
    bias = session.run({}, ["head/bias"])["head/bias"]
    before = session.run(feeds, ["net/logits"])["net/logits"]
    assert equal(session.run({**feeds, "head/bias": bias}, ["net/logits"])["net/logits"], before)
    after = session.run({**feeds, "head/bias": bias + 1}, ["net/logits"])["net/logits"]
    assert np.allclose(after, before + 1, atol=1e-6)
    assert equal(session.run(feeds, ["net/logits"])["net/logits"], before)


def test_floats_for_a_quantized_input_are_quantized_and_that_is_reported(converted):
    model = load(converted / "int8.tflite")
    session = opened(model)
    (parameters,) = [each for each in model.graph.quantization if each.tensor == "image"]
    integers = feeds_of(model.graph)["image"]
    floats = (integers.astype(np.float32) - parameters.zero_point[0]) * parameters.scale[0]
    found = [session.run({"image": each}, ["output_0"])["output_0"] for each in (integers, floats)]
    assert found[0].dtype == np.int8
    assert equal(*found)
    assert "ties away from zero" in session.environment.facts["quantized inputs"]


def test_the_environment_reports_what_really_computes(converted):
    model = load(converted / "cnn.tflite")
    facts = [opened(model, **settings).environment.facts for settings in WAYS]
    assert [each["delegate"] for each in facts] == ["XNNPACK", "none", "none"]
    environment = opened(model, threads="2").environment
    assert environment.threads == 2
    assert environment.version == environment.facts["litert"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"xnnpack": "maybe"}, "on, off"), ({"kernels": "fast"}, "reference"), ({"threads": "0"}, "")],
)
def test_settings_that_are_not_understood_are_refused(settings, reason):
    with pytest.raises(UsageError) as caught:
        opened(load(small().data()), **settings)
    assert caught.value.code == "BAD_SETTING"
    assert reason in (caught.value.why or "")


def test_only_an_oracle_takes_noise():
    with pytest.raises(UsageError) as caught:
        opened(load(small().data())).run({}, [], noise=Noise(seed=1))
    assert caught.value.code == "NO_NOISE"


def test_what_is_missing_is_named():
    session = opened(load(small().data()))
    with pytest.raises(UsageError, match="'x' is needed") as caught:
        session.run({}, ["net/logits"])
    assert caught.value.code == "MISSING_INPUT"


@pytest.mark.parametrize("operator", ["Frobnicate", "FlexErf"])
def test_custom_operators_are_refused_by_name_and_place(operator):
    with pytest.raises(Exception, match=operator) as caught:
        opened(load(unknown(operator).data()))
    assert caught.value.code == "UNSUPPORTED_OP"
    assert f"{operator}:0" in caught.value.where


def test_a_version_from_the_future_is_refused_by_the_operators_name():
    model = small()
    model.made.operatorCodes[2].version = 99
    with pytest.raises(Exception, match="LOGISTIC") as caught:
        opened(load(model.data()))
    assert caught.value.code == "UNSUPPORTED_OP"
    assert "version 99" in caught.value.why


def failing():
    """A gather beyond its table, behind two operators that work."""
    model = Building()
    graph = model.graph()
    x, index = graph.tensor("x", (4,)), graph.tensor("index", (1,), "int32")
    a, b, y = graph.tensor("a", (4,)), graph.tensor("b", (4,)), graph.tensor("y", (1,))
    graph.op("TANH", [x], [a])
    graph.op("RELU", [a], [b])
    graph.op("GATHER", [b, index], [y], "Gather")
    return load(graph.ends([x, index], [y]).model.data())


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_failing_run_names_the_operator_of_the_original_and_the_next_one_works(settings):
    session = opened(failing(), **settings)
    x = np.arange(4, dtype=np.float32)
    for feeds in ({"x": x}, {"b": x}):
        with pytest.raises(RuntimeFailedError) as caught:
            session.run({**feeds, "index": np.array([50], np.int32)}, ["y"])
        assert caught.value.where == "GATHER:2"
        assert session.run({**feeds, "index": np.array([0], np.int32)}, ["y"])["y"].tolist() == [0]


def test_a_shape_that_cannot_be_prepared_is_an_error_and_the_next_one_works():
    session = opened(load(small().data()))
    for shape in ((2, 6, 6, 4), (2, 6, 6, 5), (2, 6, 6, 3)):
        x = {"x": np.ones(shape, np.float32)}
        if shape == (2, 6, 6, 3):
            assert session.run(x, ["net/label"])["net/label"].shape == (2,)
        else:
            with pytest.raises(RuntimeFailedError):
                session.run(x, ["net/label"])


def test_placeholders_of_dynamic_axes_that_fit_nothing_do_not_prevent_opening():
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (1, 1, 1, 1), signature=(1, -1, -1, 1))
    kernel = graph.tensor("k", (1, 3, 3, 1), value=np.ones(9))
    bias, y = graph.tensor("b", (1,), value=[0]), graph.tensor("y", (1, 1, 1, 1))
    graph.op("CONV_2D", [x, kernel, bias], [y], "Conv2D", padding=1, strideW=1, strideH=1)
    session = opened(load(graph.ends([x], [y]).model.data()))
    found = session.run({"x": np.ones((1, 4, 3, 1), np.float32)}, ["y"])["y"]
    assert found.reshape(-1).tolist() == [9.0, 9.0]


def test_empty_batches_and_scalars_have_their_shapes():
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (1, 3), signature=(-1, 3)), graph.tensor("y", (1, 3))
    s, t = graph.tensor("s", ()), graph.tensor("t", ())
    graph.op("NEG", [x], [y], "Neg")
    graph.op("NEG", [s], [t], "Neg")
    session = opened(load(graph.ends([x, s], [y, t]).model.data()), xnnpack="off")
    found = session.run({"x": np.zeros((0, 3), np.float32), "s": np.float32(2)}, ["y", "t"])
    assert found["y"].shape == (0, 3)
    assert (found["t"].shape, found["t"].item()) == ((), -2.0)


def test_more_than_the_budget_is_fetched_in_pieces(converted, monkeypatch):
    model = load(converted / "float16.tflite")
    feeds = feeds_of(model.graph)
    for settings in WAYS:
        whole = opened(model, **settings).run(feeds, tensors(model))
        with monkeypatch.context() as patch:
            patch.setattr(spill, "BYTE_BUDGET", 4096)
            pieces = opened(model, **settings).run(feeds, tensors(model))
        assert all(equal(whole[each], pieces[each]) for each in whole)


def test_integer_outputs_keep_their_own_type():
    model = load(small().data())
    label = opened(model).run(feeds_of(model.graph), ["net/label"])["net/label"]
    assert label.dtype == np.int32
    assert model.graph.tensors["net/label"].dtype == "int32"
    assert TYPES["int32"] == 2
