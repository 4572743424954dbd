"""ML programs as a whole: blocks, float16, noise, feeding and fetching."""

import numpy as np
import pytest

from coreml_building import Block, ints, small, specification
from isomorph.core.trace import Noise
from isomorph.frameworks.coreml.evaluator import Evaluator
from isomorph.frameworks.coreml.package import open_model


def evaluator(tmp_path, data):
    path = tmp_path / "m.mlmodel"
    path.write_bytes(data)
    return Evaluator(open_model(path).program)


def branch(outputs, build, inputs=()):
    block = Block()
    build(block)
    return block.data(outputs, inputs)


def test_a_branch_reads_what_lies_outside(tmp_path):
    block = Block()
    block.const("two", np.float32(2.0))
    block.const("zero", np.float32(0.0))
    block.op("reduce_sum", "total", x="x", axes=block.const("axes", ints(0)),
             keep_dims=block.const("keep", np.bool_(False)))  # fmt: skip
    block.op("greater", "p", "bool", (), x="total", y="zero")
    then = branch(["a"], lambda b: b.op("mul", "a", "float32", (3,), x="x", y="two"))
    other = branch(["b"], lambda b: b.op("add", "b", "float32", (3,), x="x", y="two"))
    block.op("cond", "y", "float32", (3,), pred="p", blocks=[then, other])
    run = evaluator(tmp_path, specification(block, [("x", "float32", (3,))], ["y"])).run
    x = np.float32([1.0, 2.0, 3.0])
    assert run({"x": x}, ["y"])["y"].tolist() == [2.0, 4.0, 6.0]
    assert run({"x": -x}, ["y"])["y"].tolist() == [1.0, 0.0, -1.0]


def test_a_loop_carries_its_values(tmp_path):
    block = Block()
    block.const("zero", np.int32(0))
    carried = [("i", "int32", ()), ("v", "float32", (2,))]

    def test(b):
        b.const("limit", np.int32(5))
        b.op("less", "going", "bool", (), x="i", y="limit")

    def body(b):
        b.const("one", np.int32(1))
        b.op("add", "next", "int32", (), x="i", y="one")
        b.op("add", "sum", "float32", (2,), x="v", y="x")

    block.op(
        "while_loop", [("n", "int32", ()), ("y", "float32", (2,))], loop_vars=["zero", "x"],
        blocks=[branch(["going"], test, carried), branch(["next", "sum"], body, carried)],
    )  # fmt: skip
    run = evaluator(tmp_path, specification(block, [("x", "float32", (2,))], ["y", "n"])).run
    found = run({"x": np.float32([1.0, -2.0])}, ["y", "n"])
    assert found["y"].tolist() == [6.0, -12.0]
    assert int(found["n"]) == 5


def test_the_blocks_of_a_branch_are_described_as_bodies(tmp_path):
    from isomorph.frameworks.coreml.framework import CoremlFramework

    block = Block()
    then = branch(["a"], lambda b: b.op("exp", "a", "float32", (3,), x="x"))
    other = branch(["b"], lambda b: b.op("tanh", "b", "float32", (3,), x="x"))
    block.op("cond", "y", "float32", (3,), pred="p", blocks=[then, other])
    path = tmp_path / "m.mlmodel"
    inputs = [("x", "float32", (3,)), ("p", "bool", ())]
    path.write_bytes(specification(block, inputs, ["y"]))
    graph = CoremlFramework().load(str(path), {}).graph
    (node,) = graph.nodes
    assert (node.op, node.native_op) == ("If", "cond")
    assert [body.nodes[0].op for body in node.bodies.values()] == ["Exp", "Tanh"]
    assert node.bodies["then"].nodes[0].name.startswith(f"{node.name}/then#0/")


def test_a_float16_program_has_the_noise_of_float16(tmp_path):
    block = Block()
    block.op("cast", "h", "float16", (64,), x="x", dtype=block.const("word", "fp16"))
    block.op("exp", "y", "float16", (64,), x="h")
    run = evaluator(tmp_path, specification(block, [("x", "float32", (64,))], ["y"])).run
    x = np.linspace(-1, 1, 64).astype(np.float32)
    still = run({"x": x}, ["y"])["y"]
    assert still.dtype == np.float64
    assert np.allclose(still, np.exp(x.astype(np.float16).astype(np.float64)))
    moved = run({"x": x}, ["y"], Noise(seed=1, rounding=True))["y"]
    share = np.abs(moved / still - 1).max()
    assert 2.0**-13 < share < 2.0**-9


def test_any_tensor_can_be_fed(tmp_path):
    run = evaluator(tmp_path, small()).run
    x = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)
    whole = run({"x": x}, ["c", "p", "logits"])
    again = run({"p": whole["p"]}, ["logits"])
    assert np.array_equal(again["logits"], whole["logits"])
    assert not np.array_equal(run({"p": whole["p"] + 1}, ["logits"])["logits"], whole["logits"])


def test_an_unknown_name_is_refused(tmp_path):
    from isomorph.core.errors import IsomorphError

    with pytest.raises(IsomorphError):
        evaluator(tmp_path, small()).run({}, ["nothing"])
