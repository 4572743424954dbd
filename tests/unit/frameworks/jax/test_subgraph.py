"""Parts and bodies that are cut out compute the same and keep the names of their operations."""

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.core.subgraph import Piece
from isomorph.core.trace import Environment
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.oracle import JaxOracle
from jax_building import exported, image

jax = pytest.importorskip("jax")


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "function.jax"
    path.write_bytes(exported())
    return JaxFramework().load(str(path), {})


def oracle(model):
    return JaxOracle().open(model, Environment(runtime="jax_oracle"))


def cut(model, piece, folder):
    path = folder / "part.jax"
    JaxFramework().cut(model, piece, {}, path)
    return JaxFramework().load(str(path), {})


def test_a_part_computes_what_it_does_in_the_whole(whole, tmp_path):
    convolution = next(node for node in whole.graph.nodes if node.op == "Conv")
    loop = next(node for node in whole.graph.nodes if node.op == "Loop")
    start, ends = convolution.outputs[0], loop.inputs[:1]
    part = cut(whole, Piece(feeds=(start,), fetch=tuple(ends)), tmp_path)
    assert [spec.name for spec in part.graph.inputs] == [start]
    assert [spec.name for spec in part.graph.outputs] == list(ends)
    names = {node.name for node in whole.graph.nodes}
    assert {node.name for node in part.graph.nodes} < names
    values = oracle(whole).run({"x": image()}, [start, *ends])
    found = oracle(part).run({start: values[start]}, list(ends))
    assert np.allclose(found[ends[0]], values[ends[0]])


def test_the_body_of_a_loop_is_a_function_of_its_own(whole, tmp_path):
    loop = next(node for node in whole.graph.nodes if node.op == "Loop")
    body = loop.bodies["body"]
    made = {name for node in body.nodes for name in node.outputs}
    own = {spec.name for spec in body.inputs} | set(body.constants) | set(whole.graph.constants)
    outer = sorted({n for node in body.nodes for n in node.inputs} - made - own)
    feeds = (*(spec.name for spec in body.inputs), *outer)
    fetch = tuple(spec.name for spec in body.outputs if spec.name in made)
    part = cut(whole, Piece(feeds=feeds, fetch=fetch, node=loop.name, body="body"), tmp_path)
    assert [spec.name for spec in part.graph.outputs] == list(fetch)
    inside = {node.name.removeprefix(f"{loop.name}/body#0/") for node in body.nodes}
    assert {node.name for node in part.graph.nodes} == inside
    starts = dict(zip((spec.name for spec in body.inputs), loop.inputs, strict=False))
    values = oracle(whole).run({"x": image()}, [*starts.values(), *outer])
    feeds = {own: values[name] for own, name in starts.items()} | {n: values[n] for n in outer}
    found = oracle(part).run(feeds, list(fetch))
    assert all(np.isfinite(found[name]).all() for name in fetch)


def test_what_depends_on_more_than_its_inputs_is_refused(whole, tmp_path):
    output = whole.graph.outputs[0].name
    with pytest.raises(UsageError, match="depends on 'x'"):
        cut(whole, Piece(feeds=(), fetch=(output,)), tmp_path)
    with pytest.raises(UsageError):
        cut(whole, Piece(feeds=(), fetch=(output,), node="none", body="body"), tmp_path)
