"""Exported functions are known by content, described with the user's names, and copied whole."""

import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.model import OutputOrder
from isomorph.frameworks.jax.framework import JaxFramework
from jax_building import export_of, exported, network

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def loaded(tmp_path, data):
    path = tmp_path / "function.jax"
    path.write_bytes(data)
    return JaxFramework().load(str(path), {})


def ops(graph):
    return [node.op for node in graph.nodes]


def test_the_description_uses_the_names_of_the_program(tmp_path):
    model = loaded(tmp_path, exported())
    graph = model.graph
    assert [spec.name for spec in graph.inputs] == ["x"]
    assert {spec.name: (spec.dtype, spec.shape) for spec in graph.outputs} == {
        "logits": ("float32", (2, 5)),
        "place": ("int32", (2,)),
    }
    assert model.output_order is OutputOrder.NAMED
    assert {"Conv", "Add", "Max", "Mul", "SumPool", "ReduceSum", "Loop", "MatMul"} <= set(
        ops(graph)
    )
    convolution = next(node for node in graph.nodes if node.op == "Conv")
    assert convolution.attributes["padding"] == ((1, 1), (1, 1))
    assert convolution.attributes["kernel_output_feature_dimension"] == 3
    assert convolution.source.file.endswith("jax_building.py")
    assert convolution.source.line > 0


def test_a_loop_has_its_bodies_and_what_they_read_from_around(tmp_path):
    graph = loaded(tmp_path, exported()).graph
    loop = next(node for node in graph.nodes if node.op == "Loop")
    assert set(loop.bodies) == {"cond", "body"}
    body = loop.bodies["body"]
    assert {"MatMul", "Tanh"} <= set(ops(body))
    assert all(node.name.startswith(f"{loop.name}/body#0/") for node in body.nodes)
    # The recurrent weight is a constant of the main function or of the body.
    shapes = [each.shape for each in (*graph.constants.values(), *body.constants.values())]
    assert (4, 4) in shapes
    inside = {name for node in body.nodes for name in node.outputs}
    assert not inside & set(graph.tensors)


def test_calls_are_written_out_and_named_after_the_call(tmp_path):
    graph = loaded(tmp_path, exported(lambda x: jax.nn.relu(jax.nn.relu(x) + 1), (2,))).graph
    assert "func.call" not in {node.native_op for node in graph.nodes}
    assert sum(node.op == "Max" for node in graph.nodes) == 2
    assert len({node.name for node in graph.nodes}) == len(graph.nodes)


def test_outputs_that_are_inputs_constants_or_each_other_have_tensors_of_their_own(tmp_path):
    def function(x):
        y = jnp.sin(x)
        return x, y, y, jnp.zeros(3) + 0

    graph = loaded(tmp_path, exported(function, (2,))).graph
    names = [spec.name for spec in graph.outputs]
    assert len(set(names)) == 4
    made = {name for node in graph.nodes for name in node.outputs}
    assert set(names) <= made


def test_an_argument_that_nothing_reads_is_an_input_all_the_same(tmp_path):
    model = loaded(tmp_path, exported(lambda x, y: x + 1, (2,), (3,)))
    assert [spec.shape for spec in model.graph.inputs] == [(2,), (3,)]


def test_parameters_that_are_passed_have_the_names_of_their_places(tmp_path):
    params = {"dense": {"kernel": jax.ShapeDtypeStruct((2, 3), np.float32)}}
    found = jax.export.export(jax.jit(lambda p, x: x @ p["dense"]["kernel"]))(
        params, jax.ShapeDtypeStruct((4, 2), np.float32)
    )
    model = loaded(tmp_path, bytes(found.serialize()))
    assert [spec.name for spec in model.graph.inputs] == ["p.dense.kernel", "x"]


def test_a_function_for_several_platforms_is_read_for_the_cpu(tmp_path):
    found = export_of(jnp.sin, (4,), platforms=("cpu", "cuda"))
    model = loaded(tmp_path, bytes(found.serialize()))
    assert [spec.shape for spec in model.graph.inputs] == [(4,)]
    assert model.native.platforms == ("cpu", "cuda")


def test_short_and_long_constants_of_narrow_types_are_read_bit_by_bit(tmp_path):
    import ml_dtypes

    rng = np.random.default_rng(0)
    short = np.array([1.5, -0.0, np.nan, np.inf, 3e38], ml_dtypes.bfloat16)
    long = rng.normal(size=200).astype(ml_dtypes.bfloat16)
    model = loaded(tmp_path, exported(lambda x: (x[:5] * short, x * long), (200,)))
    from isomorph.frameworks.jax.mlir_values import array_of

    stored = [array_of(each) for each in model.native.constants.values()]
    for wanted in (short, long):
        assert any(
            each.shape == wanted.shape and each.tobytes() == wanted.tobytes() for each in stored
        )


def test_it_writes_a_copy_and_never_over_the_original(tmp_path):
    model = loaded(tmp_path, exported())
    JaxFramework().save(model, tmp_path / "copy.jax")
    assert (tmp_path / "copy.jax").read_bytes() == (tmp_path / "function.jax").read_bytes()
    with pytest.raises(RefusedError):
        JaxFramework().save(model, tmp_path / "function.jax")


def test_other_objects_are_not_claimed():
    framework = JaxFramework()
    assert framework.claims(network)
    assert framework.claims(jax.jit(network))
    assert not any(framework.claims(each) for each in (b"bytes", 3, {}, np.zeros(2), object()))
    with pytest.raises(UsageError, match="cannot read"):
        framework.load(3, {})
