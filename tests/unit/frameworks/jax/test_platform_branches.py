"""A function for several platforms has the nodes of the one that it is read for, and no more."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.core.patch import Patch, SetConstant
from isomorph.core.trace import Environment
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.runtime import JaxRuntime
from jax_building import export_of, image, network

jax = pytest.importorskip("jax")
jnp = jax.numpy
BOTH = ("cpu", "cuda")


def loaded(folder, function, *shapes, platforms=BOTH):
    path = folder / f"{'-'.join(platforms)}.jax"
    path.write_bytes(export_of(function, *shapes, platforms=platforms).serialize())
    return JaxFramework().load(str(path), {})


def described(model):
    return [(node.op, node.inputs, node.outputs) for node in model.graph.nodes]


def by_platform(x):
    return jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos)


def test_products_for_two_platforms_are_read_as_for_one(tmp_path):
    whole = loaded(tmp_path, network, (2, 6, 6, 3))
    alone = loaded(tmp_path, network, (2, 6, 6, 3), platforms=("cpu",))
    assert [each[0] for each in described(whole)] == [each[0] for each in described(alone)]
    assert not any(node.op == "If" for node in whole.graph.nodes)
    assert not whole.native.by_platform
    ran, expected = (
        JaxRuntime().open(each, Environment(runtime="jax")).run({"x": image()}, ["logits"])
        for each in (whole, alone)
    )
    assert np.array_equal(ran["logits"], expected["logits"])


@pytest.mark.parametrize(
    ("platforms", "op"), [(BOTH, "Sin"), (BOTH[::-1], "Sin"), (("cuda",), "Cos")]
)
def test_the_cpu_is_read_where_it_is_among_them(tmp_path, platforms, op):
    model = loaded(tmp_path, by_platform, (4,), platforms=platforms)
    assert [node.op for node in model.graph.nodes if node.op != "Identity"] == [op]
    assert model.native.by_platform == (len(platforms) > 1)


def test_a_branch_on_a_value_stays(tmp_path):
    def function(x):
        return jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)

    assert any(node.op == "If" for node in loaded(tmp_path, function, (4,)).graph.nodes)


def test_a_library_that_another_platform_calls_is_refused_as_well(tmp_path):
    def function(x):
        def calls(v):
            return jax.ffi.ffi_call("Frobnicate", jax.ShapeDtypeStruct(v.shape, v.dtype))(v)

        return jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=calls)

    checks = [jax.export.DisabledSafetyCheck.custom_call("Frobnicate")]
    found = jax.export.export(jax.jit(function), platforms=BOTH, disabled_checks=checks)(
        jax.ShapeDtypeStruct((4,), np.float32)
    )
    path = tmp_path / "function.jax"
    path.write_bytes(found.serialize())
    model = JaxFramework().load(str(path), {})
    with pytest.raises(UnreadableModelError, match="Frobnicate"):
        JaxRuntime().open(model, Environment(runtime="jax"))


def test_a_function_that_differs_by_platform_is_not_patched(tmp_path):
    kernel = np.arange(12, dtype=np.float32).reshape(4, 3)
    model = loaded(tmp_path, lambda x: by_platform(x) @ kernel, (4,))
    name = next(name for name, each in model.graph.constants.items() if each.shape == (4, 3))
    patch = Patch(summary="", edits=(SetConstant(tensor=name, value=kernel + 1),))
    with pytest.raises(UsageError, match="cannot be changed"):
        JaxFramework().apply(model, patch, tmp_path / "patched.jax")


def test_a_patch_holds_on_every_platform_that_computes_the_same(tmp_path):
    kernel = np.arange(12, dtype=np.float32).reshape(4, 3)
    model = loaded(tmp_path, lambda x: x @ kernel, (4,))
    name = next(name for name, each in model.graph.constants.items() if each.shape == (4, 3))
    patch = Patch(summary="", edits=(SetConstant(tensor=name, value=kernel + 1),))
    JaxFramework().apply(model, patch, tmp_path / "patched.jax")
    data = bytearray((tmp_path / "patched.jax").read_bytes())
    found = jax.export.deserialize(data)
    assert found.platforms == BOTH
    assert np.allclose(found.call(np.ones(4, np.float32)), (kernel + 1).sum(0))
