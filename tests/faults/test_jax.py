"""Faults planted into functions of JAX: found at their node, with their cause."""

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from jax_building import exported, image, weights

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def network(x, own, *, padding="SAME", rectify=None, squash=None, divisor=4.0, axis=1):
    layout = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, own["kernel"], (1, 1), padding, dimension_numbers=layout)
    y = (rectify or jax.nn.relu)(y + own["bias"])
    y = lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / divisor
    rows = y.mean(2)

    def step(state, row):
        return (squash or jnp.tanh)(row + state @ own["recurrent"]), None

    last, _ = lax.scan(step, jnp.zeros_like(rows[:, 0]), rows.transpose(1, 0, 2))
    return jax.nn.softmax(last @ own["head"], axis)


def changed(name, change):
    own = weights()
    return {**own, name: change(own[name])}


FAULTS = {
    "a bias is lost": (changed("bias", np.zeros_like), {}, "Add", "weight"),
    "a weight is transposed": (changed("recurrent", np.transpose), {}, "MatMul", "layout"),
    "a kernel is turned": (changed("kernel", lambda w: w[::-1]), {}, "Conv", None),
    "another padding": (weights(), {"padding": ((2, 0), (1, 1))}, "Conv", "attribute"),
    "another activation": (weights(), {"rectify": jax.nn.leaky_relu}, None, "missing_op"),
    "another function in a loop": (weights(), {"squash": jax.nn.sigmoid}, None, "missing_op"),
    "another divisor": (weights(), {"divisor": 3.0}, "Div", "attribute"),
    "another axis": (weights(), {"axis": 0}, None, "attribute"),
}
"""The parameters and options of the faulty function, the operator that is named, its cause."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_with_its_cause(name, tmp_path):
    own, options, op, cause = FAULTS[name]
    paths = [tmp_path / "right.jax", tmp_path / "wrong.jax"]
    functions = [lambda x: network(x, weights()), lambda x: network(x, own, **options)]
    for path, function in zip(paths, functions, strict=True):
        path.write_bytes(exported(function, (2, 6, 6, 3)))
    report = isomorph.check(*paths, inputs={"x": image()}, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    found = next(each for each in report.findings if each.code == "GUILTY_NODE")
    assert cause in (None, found.cause), found.summary
    if op is not None:
        assert f"{op} '" in found.summary
    if options.get("squash"):
        assert "/body#0/" in found.node


def test_the_same_function_with_parameters_passed_is_equivalent(tmp_path):
    one, other = tmp_path / "closed.jax", tmp_path / "rounded.jax"
    one.write_bytes(exported(lambda x: network(x, weights()), (2, 6, 6, 3)))
    other.write_bytes(exported(lambda x: network(x + 0.0, weights()) * 1.0, (2, 6, 6, 3)))
    report = isomorph.check(one, other, inputs={"x": image()}, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert report.exit_code == 0
