"""Constants and numbers of exported functions are changed in a copy; all else is refused."""

import ml_dtypes
import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.patch import Patch, RemoveNode, SetAttribute, SetConstant
from isomorph.core.trace import Environment
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.runtime import JaxRuntime
from jax_building import exported, image

jax = pytest.importorskip("jax")
FRAMEWORK = JaxFramework()


def loaded(tmp_path, *made):
    path = tmp_path / "function.jax"
    path.write_bytes(exported(*made))
    return FRAMEWORK.load(str(path), {})


def applied(model, folder, *edits):
    path = folder / "patched.jax"
    path.unlink(missing_ok=True)
    FRAMEWORK.apply(model, Patch(summary="", edits=edits), path)
    return FRAMEWORK.load(str(path), {})


def run(model, feeds, output):
    session = JaxRuntime().open(model, Environment(runtime="jax"))
    return session.run(feeds, [output])[output]


def test_a_constant_is_replaced_and_everything_else_stays(tmp_path):
    model = loaded(tmp_path)
    name = next(name for name, each in model.graph.constants.items() if each.shape == (4, 5))
    after = applied(model, tmp_path, SetConstant(tensor=name, value=np.zeros((4, 5))))
    assert not run(after, {"x": image()}, "logits").any()
    assert [node.name for node in after.graph.nodes] == [node.name for node in model.graph.nodes]
    same = {n for n, each in model.graph.constants.items() if after.graph.constants[n] == each}
    assert set(model.graph.constants) - same == {name}


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.float32])
def test_constants_of_every_type_are_stored_bit_by_bit(dtype, tmp_path):
    stored = np.array([1, 0, 1, 1, 0], dtype)
    wanted = np.array([0, 1, 1, 0, 0], dtype)
    model = loaded(tmp_path, lambda x: x + stored.astype(np.float32) * 0 + stored, (5,))
    name = next(
        name for name, each in model.graph.constants.items()
        if each.dtype == np.dtype(dtype).name and each.shape == (5,)
    )  # fmt: skip
    after = applied(model, tmp_path, SetConstant(tensor=name, value=wanted))
    found = JaxRuntime().open(after, Environment(runtime="jax")).run({}, [name])[name]
    assert found.tobytes() == wanted.tobytes()


def test_numbers_of_an_operation_are_replaced(tmp_path):
    model = loaded(tmp_path)
    node = next(node.name for node in model.graph.nodes if node.op == "Conv")
    edit = SetAttribute(node=node, name="padding", value=((2, 0), (0, 2)))
    after = applied(model, tmp_path, edit)
    again = next(each for each in after.graph.nodes if each.name == node)
    assert again.attributes["padding"] == ((2, 0), (0, 2))
    feeds = {"x": image()}
    assert not np.allclose(run(after, feeds, "logits"), run(model, feeds, "logits"))


def test_what_the_file_cannot_hold_is_refused(tmp_path):
    model = loaded(tmp_path)
    node = next(node.name for node in model.graph.nodes if node.op == "Conv")
    constant = next(iter(model.graph.constants))
    for edit in (
        RemoveNode(node=node),
        SetConstant(tensor=constant, value=np.zeros(999)),
        SetConstant(tensor="none", value=np.zeros(1)),
        SetAttribute(node=node, name="padding", value=(1, 1)),
        SetAttribute(node=node, name="padding", value=((0.5, 0), (0, 1))),
    ):
        with pytest.raises(UsageError) as caught:
            FRAMEWORK.apply_in_memory(model, Patch(summary="", edits=(edit,)))
        assert caught.value.code == "PATCH_NOT_POSSIBLE"
    with pytest.raises(RefusedError):
        FRAMEWORK.apply(model, Patch(summary="", edits=()), tmp_path / "function.jax")
