"""Where JAX runs, in which precision, and how that is shown."""

import os

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.runtime import JaxRuntime
from isomorph.oracle.sizes import rms
from jax_building import export_of, image, network

jax = pytest.importorskip("jax")
jnp = jax.numpy


def has_cuda():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


needs_cuda = pytest.mark.skipif(not has_cuda(), reason="JAX has no CUDA device")
BOTH = ("cpu", "cuda")


def loaded(folder, function=network, *shapes, platforms=BOTH):
    path = folder / "function.jax"
    path.write_bytes(
        export_of(function, *(shapes or ((2, 6, 6, 3),)), platforms=platforms).serialize()
    )
    return JaxFramework().load(str(path), {})


def opened(model, **settings):
    return JaxRuntime().open(model, Environment(runtime="jax", settings=settings))


def tensors(model):
    return [name for node in model.graph.nodes for name in node.outputs]


@pytest.mark.skipif(has_cuda(), reason="JAX has a CUDA device")
@pytest.mark.parametrize("word", ["cuda", "cuda:0"])
def test_a_missing_device_is_a_failed_runtime_that_reports_what_there_is(tmp_path, word):
    with pytest.raises(RuntimeFailedError) as refused:
        opened(loaded(tmp_path), device=word)
    assert refused.value.code == "NO_SUCH_DEVICE"
    assert "there is: cpu" in refused.value.why
    assert refused.value.fix == "--set device=cpu"


@pytest.mark.parametrize("word", ["warp", "cuda:99", "cpu:1", "cuda:", ""])
def test_a_device_that_nobody_has_is_refused(tmp_path, word):
    with pytest.raises(RuntimeFailedError) as refused:
        opened(loaded(tmp_path), device=word)
    assert refused.value.code == "NO_SUCH_DEVICE"


def test_a_function_for_another_platform_is_refused_with_both_ways_out(tmp_path):
    with pytest.raises(UnreadableModelError) as refused:
        opened(loaded(tmp_path, platforms=("cuda",)))
    assert refused.value.code == "NO_SUCH_DEVICE"
    assert "--set device=cuda" in refused.value.fix
    assert "platforms=('cuda', 'cpu')" in refused.value.fix


def test_other_words_are_refused(tmp_path):
    with pytest.raises(UsageError, match="matmul_precision"):
        opened(loaded(tmp_path), matmul_precision="tf32")


def test_settings_are_shown_as_code():
    runtime = JaxRuntime()
    assert runtime.settings_code({}) == ()
    assert '"fusion,' in runtime.settings_code({"optimization": "unfused"})[0]
    assert "before jax.export" in runtime.settings_code({"matmul_precision": "highest"})[0]
    assert "jax.devices('cuda')[1]" in runtime.settings_code({"device": "cuda:1"})[0]


def test_only_cuda_has_a_type_that_a_precision_asks_for():
    runtime = JaxRuntime()
    words = {**runtime.settings, "matmul_precision": "high"}
    assert not runtime.requested_dtype(words)
    assert runtime.requested_dtype({**words, "device": "cuda:1"}) == "tf32"
    assert not runtime.requested_dtype({**runtime.settings, "device": "cuda"})


def test_only_a_process_on_cuda_leaves_memory_to_others():
    runtime = JaxRuntime()
    assert not runtime.variables({**runtime.settings})
    assert runtime.variables({**runtime.settings, "device": "cuda"})


def test_a_script_does_not_claim_another_precision_on_cuda(tmp_path):
    model, runtime = loaded(tmp_path), JaxRuntime()
    assert runtime.script_source(model, {"device": "cuda", "matmul_precision": "highest"}) is None
    lines = runtime.script_source(model, {"device": "cuda"}).body
    assert any("jax.devices('cuda')[0]" in line for line in lines)


def test_a_session_on_the_cpu_changes_no_setting_of_this_process(tmp_path):
    before = dict(os.environ), jax.config.jax_platforms
    model = loaded(tmp_path)
    JaxRuntime().open(model, Environment(runtime="jax", isolation="none"))
    assert (dict(os.environ), jax.config.jax_platforms) == before


@pytest.mark.parametrize("word", ["high", "highest"])
def test_a_precision_reaches_functions_with_dynamic_axes(tmp_path, word):
    from isomorph.frameworks.jax.cut import PRECISE, with_precision

    scope = jax.export.SymbolicScope()
    (batch,) = jax.export.symbolic_shape("b", scope=scope)
    spec = jax.ShapeDtypeStruct((batch, 8), np.float32)
    kernel = np.ones((8, 8), np.float32)
    path = tmp_path / "function.jax"
    found = jax.export.export(jax.jit(lambda x: x @ kernel), platforms=("cpu",))(spec)
    path.write_bytes(found.serialize())
    model = JaxFramework().load(str(path), {})
    assert PRECISE[word] in with_precision(model.native, word).mlir_module()
    x = np.ones((3, 8), np.float32)
    (name,) = (each.name for each in model.graph.outputs)
    (given,) = (each.name for each in model.graph.inputs)
    ran = opened(model, matmul_precision=word).run({given: x}, [name])[name]
    assert np.array_equal(ran, x @ kernel)


def test_a_product_keeps_the_precision_that_it_states(tmp_path):
    from isomorph.frameworks.jax.cut import with_precision

    kernel = np.ones((4, 4), np.float32)

    def function(x):
        return jnp.matmul(
            jax.lax.fori_loop(0, 2, lambda _, v: v @ kernel, x), kernel, precision="highest"
        )

    model = loaded(tmp_path, function, (4, 4), platforms=("cpu",))
    stated = with_precision(model.native, "high").mlir_module()
    assert stated.count("[HIGHEST, HIGHEST]") == 1
    assert stated.count("[HIGH, HIGH]") == 1


@needs_cuda
@pytest.mark.parametrize("optimization", ["default", "unfused", "none"])
def test_a_cuda_run_is_near_and_the_same_cut_or_whole(tmp_path, optimization):
    model = loaded(tmp_path)
    words = {"matmul_precision": "highest", "optimization": optimization}
    session = opened(model, device="cuda", **words)
    feeds = {"x": image()}
    ran = session.run(feeds, ["logits"])["logits"]
    assert np.allclose(ran, opened(model).run(feeds, ["logits"])["logits"], atol=1e-5)
    every = session.run(feeds, tensors(model))
    assert np.allclose(every["logits"], ran, atol=1e-5)
    assert session.environment.device == "cuda"
    assert "device name" in session.environment.facts


@needs_cuda
def test_tf32_is_a_setting_and_costs_digits(tmp_path):
    kernel = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    model = loaded(tmp_path, lambda x: x @ kernel, (256, 256))
    x = np.random.default_rng(1).normal(size=(256, 256)).astype(np.float32)
    truth = x.astype(np.float64) @ kernel
    errors = {}
    for word in ("default", "highest"):
        session = opened(model, device="cuda", matmul_precision=word)
        errors[word] = rms(session.run({"x": x}, ["result"])["result"] - truth)
    assert errors["highest"] < 0.01 * errors["default"]


@needs_cuda
def test_a_function_for_the_cpu_alone_is_refused_on_cuda(tmp_path):
    with pytest.raises(UnreadableModelError) as refused:
        opened(loaded(tmp_path, platforms=("cpu",)), device="cuda")
    assert refused.value.code == "NO_SUCH_DEVICE"
    assert "platforms=('cpu', 'cuda')" in refused.value.fix


@needs_cuda
def test_a_function_for_cuda_alone_is_fed_and_fetched_there(tmp_path):
    model = loaded(tmp_path, platforms=("cuda",))
    session = opened(model, device="cuda:0", matmul_precision="highest")
    every = session.run({"x": image()}, tensors(model))
    assert np.allclose(every["logits"], jax.jit(network)(image())["logits"], atol=1e-2)


@needs_cuda
def test_other_operations_on_cuda_are_run_whole(tmp_path):
    def function(x):
        return jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=lambda v: jnp.cos(v - jnp.pi / 2))

    model = loaded(tmp_path, function, (4,))
    session = opened(model, device="cuda")
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    assert session.capabilities.fetch == "outputs"
    assert np.allclose(session.run({"x": x}, ["result"])["result"], np.sin(x), atol=1e-5)


@needs_cuda
def test_a_live_function_is_exported_for_both():
    from isomorph.frameworks.jax.export import live_export

    assert live_export(jnp.sin, {"x": np.ones(3, np.float32)}).platforms == BOTH
