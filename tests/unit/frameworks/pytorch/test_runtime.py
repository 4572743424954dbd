import numpy as np
import pytest
import torch
from torch import nn

from isomorph import registry
from isomorph.core.errors import IsomorphError, RuntimeFailedError, UsageError
from isomorph.core.execution import LosesDevice
from isomorph.core.trace import Noise
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.store import spill
from pytorch_networks import (
    Cnn,
    exported,
    feeds_of,
    fetchable,
    load,
    networks,
    oracle,
    outputs,
    rms,
    runtime,
)


@pytest.fixture(scope="module")
def cnn():
    module, example = networks()["cnn"]
    return load(module, *example), module, example


def test_the_run_is_bit_for_bit_that_of_the_module(cnn):
    model, module, example = cnn
    (name,) = outputs(model)
    with torch.no_grad():
        expected = module(*example).numpy()
    session, feeds = runtime(model), feeds_of(model, example)
    assert np.array_equal(session.run(feeds, [name])[name], expected)
    assert np.array_equal(session.run(feeds, fetchable(model))[name], expected)


def test_only_what_is_needed_runs(cnn):
    model, _, example = cnn
    session = runtime(model)
    last = model.graph.nodes[-1]
    whole = session.run(feeds_of(model, example), fetchable(model))
    fed = {last.inputs[0]: whole[last.inputs[0]]}
    assert np.array_equal(session.run(fed, last.outputs)[last.outputs[0]], whole[last.outputs[0]])
    with pytest.raises(UsageError, match="'x'") as missing:
        session.run({}, last.outputs)
    assert missing.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError) as unknown:
        session.run(fed, ["nowhere"])
    assert unknown.value.code == "UNKNOWN_TENSOR"


def test_weights_may_be_fetched_and_fed(cnn):
    model, module, example = cnn
    session, (name,) = runtime(model), outputs(model)
    weight = next(n for n in model.graph.constants if n.endswith("head_weight"))
    stored = session.run({}, [weight])[weight]
    assert np.array_equal(stored, module.head.weight.detach().numpy())
    feeds = feeds_of(model, example)
    zeroed = session.run({**feeds, weight: np.zeros_like(stored)}, [name])[name]
    assert np.array_equal(zeroed, np.broadcast_to(module.head.bias.detach().numpy(), zeroed.shape))


def test_float64_feeds_are_taken_at_the_declared_type_and_wrong_kinds_are_refused(cnn):
    model, _, example = cnn
    session, (name,) = runtime(model), outputs(model)
    feeds = feeds_of(model, example)
    wide = {key: value.astype(np.float64) for key, value in feeds.items()}
    assert np.array_equal(session.run(wide, [name])[name], session.run(feeds, [name])[name])
    with pytest.raises(UsageError) as wrong:
        session.run({"x": np.zeros((2, 3, 12, 12), np.int64)}, [name])
    assert wrong.value.code == "WRONG_DTYPE"


def test_in_place_operators_neither_reach_the_feeds_nor_each_other():
    class InPlace(nn.Module):
        def forward(self, x):
            y = x + 1
            z = y.relu_()
            x.mul_(2)
            return z, x

    x = torch.tensor([-3.0, 1.0])
    model = load(InPlace(), x.clone())
    feeds = {"x": x.numpy()}
    result = runtime(model).run(feeds, fetchable(model))
    assert feeds["x"].tolist() == [-3.0, 1.0]
    assert result["add"].tolist() == [-2.0, 2.0], "captured before it was written into"
    assert [result[name].tolist() for name in outputs(model)] == [[0.0, 2.0], [-6.0, 2.0]]


def test_writing_through_a_view_is_seen_by_whoever_reads_the_whole():
    class Assigns(nn.Module):
        def forward(self, x):
            y = x * 2
            y[:, 0] = 7.0
            return y + 1

    x = torch.ones(2, 3)
    model = load(Assigns(), x)
    (name,) = outputs(model)
    result = runtime(model).run({"x": x.numpy()}, fetchable(model))
    assert result[name].tolist() == [[8.0, 3.0, 3.0]] * 2
    assert not any(node.native_op.split(".")[1].endswith("_") for node in model.graph.nodes)


def test_training_mode_does_not_leak_from_one_run_into_the_next():
    module = nn.Sequential(nn.BatchNorm1d(3)).train()
    x = torch.randn(8, 3)
    model = PytorchFramework().load(exported(module, x), {})
    (name,) = outputs(model)
    mean = next(n for n in model.graph.constants if n.endswith("running_mean"))
    session, feeds = runtime(model), feeds_of(model, (x,))
    first = session.run(feeds, [name])[name]
    assert np.array_equal(first, session.run(feeds, [name])[name])
    assert np.array_equal(first, session.run(feeds, fetchable(model))[name])
    assert not session.run({}, [mean])[mean].any()


def test_nested_inputs_and_outputs_are_flattened_in_order():
    class Nested(nn.Module):
        def forward(self, pair, *, scale=1.0, extra=None):
            return {"a": pair["left"] * scale, "b": [pair["right"] - 1, None]}

    one, two = torch.ones(2), torch.zeros(2)
    example = ({"left": one, "right": two},)
    model = load(Nested(), *example)
    assert [spec.name for spec in model.graph.inputs] == ["pair_left", "pair_right"]
    feeds = {"pair_left": one.numpy() * 3, "pair_right": two.numpy()}
    result = runtime(model).run(feeds, outputs(model))
    assert [value.tolist() for value in result.values()] == [[3.0, 3.0], [-1.0, -1.0]]


def test_dynamic_axes_follow_the_feeds():
    model = load(Cnn(), torch.randn(2, 3, 8, 8), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert isinstance(model.graph.inputs[0].shape[0], str)
    (name,) = outputs(model)
    for batch in (1, 4):
        feeds = {"x": np.ones((batch, 3, 8, 8), np.float32)}
        assert runtime(model).run(feeds, [name])[name].shape == (batch, 5)


def test_fresh_tensors_follow_the_type_of_the_run():
    module, example = networks()["lstm"]
    model = load(module, *example)
    feeds, (name,) = feeds_of(model, example), outputs(model)
    narrow = runtime(model, dtype="bfloat16").run(feeds, [name])[name]
    full = runtime(model).run(feeds, [name])[name]
    assert narrow.dtype.name == "bfloat16"
    assert rms(narrow.astype(np.float64) - full) / rms(full) < 5e-2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_narrow_run_is_near_and_is_reported(cnn, dtype):
    model, _, example = cnn
    feeds, (name,) = feeds_of(model, example), outputs(model)
    session = runtime(model, dtype=dtype)
    narrow = session.run(feeds, [name])[name]
    assert str(narrow.dtype) == dtype
    full = runtime(model).run(feeds, [name])[name]
    distance = rms(narrow.astype(np.float64) - full) / rms(full)
    assert 1e-5 < distance < 5e-2
    assert session.environment.precision == dtype


def test_the_environment_is_complete_and_the_process_is_left_as_it_was(cnn):
    model, _, example = cnn
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    session = runtime(model, threads="1", deterministic="yes")
    session.run(feeds_of(model, example), outputs(model))
    environment = session.environment
    assert environment.version == torch.__version__
    assert (environment.threads, environment.device) == (1, "cpu")
    assert environment.facts["deterministic algorithms"] == "on"
    assert {"cpu capability", "float32 matmul precision"} <= set(environment.facts)
    assert before == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"dtype": "float7"}, "BAD_SETTING"),
        ({"threads": "many"}, "BAD_SETTING"),
        ({"compile": "perhaps"}, "BAD_SETTING"),
        ({"device": "warp"}, "NO_SUCH_DEVICE"),
        ({"compile": "yes", "dtype": "float16"}, "CONFLICTING_SETTINGS"),
    ],
)
def test_impossible_settings_are_refused(cnn, settings, code):
    with pytest.raises(IsomorphError) as refused:
        runtime(cnn[0], **settings)
    assert refused.value.code == code


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("name", list(networks()))
def test_a_cuda_run_is_near_and_the_same_cut_or_whole(name):
    module, example = networks()[name]
    model = load(module, *example)
    feeds, (output,) = feeds_of(model, example), outputs(model)
    session = runtime(model, device="cuda")
    ran = session.run(feeds, [output])[output]
    assert np.allclose(ran, runtime(model).run(feeds, [output])[output], rtol=1e-3, atol=1e-3)
    assert np.array_equal(ran, session.run(feeds, fetchable(model))[output])
    assert "device name" in session.environment.facts


def test_an_oracle_refuses_a_device_that_is_not_there(cnn):
    with pytest.raises(IsomorphError) as refused:
        oracle(cnn[0], device="warp")
    assert refused.value.code == "NO_SUCH_DEVICE"
    assert refused.value.fix == "--set oracle.device=cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_an_oracle_on_cuda_gives_the_numbers_of_the_cpu():
    wide = nn.Sequential(nn.Embedding(64, 4096), nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 9))
    example = (torch.arange(12).reshape(2, 6),)
    model = load(wide, *example)
    feeds, every = feeds_of(model, example), fetchable(model)
    there, here = oracle(model, device="cuda"), oracle(model)
    assert there.environment.device == "cuda"
    assert "device name" in there.environment.facts
    ran, expected = there.run(feeds, every), here.run(feeds, every)
    for name in every:
        assert np.allclose(ran[name], expected[name], rtol=1e-12, atol=1e-12), name
    noise = Noise(seed=3, rounding=True)
    drawn, drawn_here = there.run(feeds, every, noise=noise), here.run(feeds, every, noise=noise)
    for name in every:
        spread = rms(drawn[name] - ran[name])
        assert 0.5 * rms(drawn_here[name] - expected[name]) <= spread
        assert spread <= 2.0 * rms(drawn_here[name] - expected[name])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_tf32_is_a_setting_and_costs_digits():
    model = load(nn.Linear(256, 256), torch.ones(8, 256))
    feeds, (output,) = feeds_of(model, (torch.randn(8, 256),)), outputs(model)
    truth = oracle(model).run(feeds, [output])[output]
    errors = {}
    for word in ("yes", "no"):
        session = runtime(model, device="cuda", tf32=word)
        errors[word] = rms(session.run(feeds, [output])[output] - truth)
        assert session.environment.facts["tf32 in products"] == {"yes": "on", "no": "off"}[word]
    assert errors["no"] < 0.01 * errors["yes"]


def test_tf32_is_the_sessions_and_not_the_processes(cnn):
    before = torch.backends.cudnn.allow_tf32
    model, _, example = cnn
    runtime(model, tf32="no").run(feeds_of(model, example), outputs(model))
    assert torch.backends.cudnn.allow_tf32 is before
    assert runtime(model, tf32="yes").environment.settings["tf32"] == "no"  # a CPU has none


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_a_failed_runtime_that_reports_what_there_is(cnn):
    with pytest.raises(RuntimeFailedError) as refused:
        runtime(cnn[0], device="cuda")
    assert "there is: cpu" in refused.value.why


def test_compiling_without_a_compiler_is_refused(cnn, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeFailedError) as refused:
        runtime(cnn[0], compile="yes")
    assert refused.value.code == "NO_COMPILER"


def test_a_compiled_run_gives_outputs_only():
    model = load(nn.Sequential(nn.Linear(4, 4), nn.GELU()), torch.ones(2, 4))
    session, (name,) = runtime(model, compile="yes"), outputs(model)
    feeds = {"input": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)}
    assert session.capabilities.fetch == "outputs"
    compiled = session.run(feeds, [name])[name]
    assert np.allclose(compiled, runtime(model).run(feeds, [name])[name], rtol=1e-5, atol=1e-7)
    with pytest.raises(UsageError) as refused:
        session.run(feeds, ["linear"])
    assert refused.value.code == "OUTPUTS_ONLY"


def test_a_runtime_has_no_noise(cnn):
    model, _, example = cnn
    with pytest.raises(UsageError) as refused:
        runtime(model).run(feeds_of(model, example), outputs(model), noise=Noise(seed=0))
    assert refused.value.code == "NO_NOISE"


def test_torchs_own_message_comes_with_node_and_operator(cnn):
    model, _, _ = cnn
    node = next(node for node in model.graph.nodes if node.op == "Gemm")
    with pytest.raises(RuntimeFailedError) as failed:
        runtime(model).run({node.inputs[0]: np.ones((2, 3), np.float32)}, node.outputs)
    assert "aten.linear.default" in failed.value.sentence
    assert node.name in failed.value.sentence


@pytest.mark.parametrize("open_session", [runtime, oracle])
def test_more_than_memory_holds_waits_on_disk(cnn, monkeypatch, open_session):
    model, _, example = cnn
    feeds, names = feeds_of(model, example), fetchable(model)
    whole = open_session(model).run(feeds, names)
    monkeypatch.setattr(spill, "BYTE_BUDGET", 4096)
    parts = open_session(model).run(feeds, names)
    assert all(np.array_equal(parts[name], whole[name]) for name in names)
    stored = sum(array.nbytes for array in parts.values() if not isinstance(array, np.memmap))
    assert stored <= 4096 < sum(array.nbytes for array in parts.values())


@pytest.mark.parametrize("name", ["pytorch", "pytorch_oracle"])
def test_an_assertion_of_a_kernel_costs_the_device(name):
    found = registry.runtime(name)
    assert isinstance(found, LosesDevice)
    assert found.device_lost(torch.AcceleratorError("device-side assert triggered"))
    assert not found.device_lost(RuntimeError("sizes do not fit"))
