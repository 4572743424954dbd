"""Bodies read their constants and what is around them, and fold counts exactly."""

import numpy as np
import pytest
from onnx import parser

from isomorph import registry
from isomorph.core.digest import constant_of
from isomorph.proof.bodies import (
    body_constant,
    folded,
    inner_constants,
    inner_graphs,
    inner_numbers,
    reads,
)
from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms

TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[2] x, bool c) => (float[2] y) { t = Neg(x) y = If(c) <
    then_branch = a () => (float[2] p) <float[2] k = {1.5, 2.5}> { p = Add(x, k) },
    else_branch = b () => (float[2] q) { q = Identity(t) }> }"""


def graph():
    return registry.framework("onnx").load(parser.parse_model(TEXT), {}).graph


def test_what_bodies_hold_and_read():
    found = graph()
    assert len(list(inner_graphs(found))) == 3
    assert [each.shape for each in inner_constants(found).values()] == [(2,)]
    assert [each.tolist() for each in inner_numbers(found)] == [[1.5, 2.5]]
    branch = found.nodes[-1]
    assert {"c", "x", "t"} <= set(reads(branch))


def test_a_constant_of_a_body_is_what_its_digest_says():
    stored = constant_of("k", np.float16([1.5, 2.5]), body=True)
    value, dtype = body_constant(stored)
    assert (value.dtype, value.tolist(), dtype) == (np.float16, [1.5, 2.5], "float16")
    large = constant_of("k", np.zeros(1 << 17, np.float32), body=True)
    with pytest.raises(NoMeaningError, match="cannot be read"):
        body_constant(large)


@pytest.mark.parametrize(
    ("name", "given", "dtype", "wanted"),
    [
        ("int add", [np.int32(2**31 - 1), np.int32(1)], "int32", -(2**31)),
        ("int mul", [np.int64(6), np.int64(7)], "int64", 42),
        ("less", [np.float32(0.1), np.float32(0.2)], "bool", True),
        ("cast", [np.int64(1 << 24)], "float32", float(1 << 24)),
        ("cast", [np.int64((1 << 24) + 1)], "float32", None),
        ("cast", [np.int64(300)], "uint8", None),
        ("cast", [np.float32(1.5)], "int64", None),
        ("exp", [np.float32(1)], "float32", None),
    ],
)
def test_only_what_every_runtime_computes_exactly_is_folded(name, given, dtype, wanted):
    t = Terms()
    terms = [t.constant(np.asarray(each), str(np.asarray(each).dtype)) for each in given]
    made = t.function(name, terms, dtype=dtype)
    found = folded(t, made)
    if wanted is None:
        assert found is made
    else:
        assert (found.op, found.dtype, found.value()) == ("constant", dtype, wanted)
