"""Two projections of the same data with each other's weights are both named, with the cause."""

import numpy as np
import pytest

import isomorph
from weight_pairs import F32, floats, model, node

RANDOM = np.random.default_rng(3)
WIDTH, INNER = 6, 10
WEIGHTS = {
    "gate": RANDOM.standard_normal((WIDTH, INNER)).astype(F32),
    "up": RANDOM.standard_normal((WIDTH, INNER)).astype(F32),
    "gate_bias": RANDOM.standard_normal(INNER).astype(F32),
    "up_bias": RANDOM.standard_normal(INNER).astype(F32),
    "down": RANDOM.standard_normal((INNER, WIDTH)).astype(F32),
}
GIVEN = {"x": RANDOM.standard_normal((5, WIDTH)).astype(F32)}


def gated(gate="gate", up="up", *, biases=(), activation="Sigmoid"):
    """An activation of one projection times the other one, with biases where given."""
    if biases:
        products = [
            node("MatMul", f"x {gate}", "g0"), node("Add", f"g0 {biases[0]}", "g"),
            node("MatMul", f"x {up}", "u0"), node("Add", f"u0 {biases[1]}", "u"),
        ]  # fmt: skip
    else:
        products = [node("MatMul", f"x {gate}", "g"), node("MatMul", f"x {up}", "u")]
    nodes = [
        *products, node(activation, "g", "s"), node("Mul", "s u", "m"),
        node("MatMul", "m down", "y"),
    ]  # fmt: skip
    used = {name for each in nodes for name in each.input}
    constants = {name: value for name, value in WEIGHTS.items() if name in used}
    return model(nodes, {"x": floats(5, WIDTH)}, {"y": floats(5, WIDTH)}, constants)


def named(reference, candidate):
    report = isomorph.check(reference, candidate, inputs=GIVEN, in_process=True)
    found = [each for each in report.findings if each.code == "GUILTY_NODE"]
    return report.verdict, {each.node for each in found}, {each.cause for each in found}


@pytest.mark.parametrize("activation", ["Sigmoid", "Tanh"])
def test_exchanged_weights_are_named_at_both_products(activation):
    verdict, nodes, causes = named(
        gated(activation=activation), gated("up", "gate", activation=activation)
    )
    assert verdict is isomorph.Verdict.DIVERGENT
    assert nodes == {"MatMul_g", "MatMul_u"}
    assert causes == {"weight"}


def test_exchanged_weights_and_biases_are_named():
    reference = gated(biases=("gate_bias", "up_bias"))
    candidate = gated("up", "gate", biases=("up_bias", "gate_bias"))
    verdict, nodes, causes = named(reference, candidate)
    assert verdict is isomorph.Verdict.DIVERGENT
    assert nodes <= {"MatMul_g", "MatMul_u", "Add_g", "Add_u"}
    assert causes == {"weight"}


def test_another_order_of_the_nodes_is_no_fault():
    """The branches may stand in either order, and a product may take its operands in either."""
    candidate = gated()
    products = [*candidate.graph.node[1::-1], *candidate.graph.node[2:]]
    del candidate.graph.node[:]
    candidate.graph.node.extend(products)
    report = isomorph.check(gated(), candidate, inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_exchanged_operands_of_one_node_stay_its_fault():
    """Both projections are right, and the node that subtracts them is not."""
    nodes = [node("MatMul", "x gate", "g"), node("MatMul", "x up", "u")]

    def difference(order):
        return model(
            [*nodes, node("Sub", order, "y")], {"x": floats(5, WIDTH)}, {"y": floats(5, INNER)},
            {name: WEIGHTS[name] for name in ("gate", "up")},
        )  # fmt: skip

    _, found, causes = named(difference("g u"), difference("u g"))
    assert found == {"Sub_y"}
    assert causes == {"layout"}
