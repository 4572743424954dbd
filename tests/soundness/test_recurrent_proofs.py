"""Recurrent layers that differ in a gate, a bias, a direction or a state are never proven."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import isomorph
from recurrent_models import HIDDEN, recurrent


def gates(*order):
    """Weights and biases with their gates in another order."""

    def change(stored):
        for name in ("w", "r"):
            stored[name] = blocks(stored[name], order)
        half = stored["b"].shape[1] // 2
        parts = (stored["b"][:, :half], stored["b"][:, half:])
        stored["b"] = np.concatenate([blocks(part, order) for part in parts], 1)

    return change


def blocks(array, order):
    parts = [array[:, at * HIDDEN : (at + 1) * HIDDEN] for at in order]
    return np.concatenate(parts, 1)


def halves(*places):
    """Some elements of the bias in the other half: of the input's and of the state's."""

    def change(stored):
        bias, half = stored["b"], stored["b"].shape[1] // 2
        for at in places:
            bias[:, [at, at + half]] = bias[:, [at + half, at]]

    return change


def one_number(name, place):
    def change(stored):
        stored[name][place] = np.nextafter(np.float32(stored[name][place]), np.float32(9))

    return change


def directions(name):
    def change(stored):
        stored[name] = stored[name][::-1].copy()

    return change


PAIRS = {
    "LSTM gates in the order of torch": ("LSTM", {}, {"change": gates(0, 2, 3, 1)}),
    "LSTM with two gates exchanged": ("LSTM", {}, {"change": gates(0, 2, 1, 3)}),
    "GRU with two gates exchanged": ("GRU", {}, {"change": gates(1, 0, 2)}),
    "GRU bias of the new gate in the other half": (
        "GRU", {"linear_before_reset": 1},
        {"linear_before_reset": 1, "change": halves(2 * HIDDEN)},
    ),
    "GRU reset before or behind the product": ("GRU", {}, {"linear_before_reset": 1}),
    "another direction": ("LSTM", {}, {"direction": "reverse"}),
    "directions exchanged": (
        "LSTM", {"direction": "bidirectional"},
        {"direction": "bidirectional", "change": directions("r")},
    ),
    "the last number of a weight": ("LSTM", {}, {"change": one_number("r", (0, 15, 3))}),
    "one number of a bias": ("GRU", {}, {"change": one_number("b", (0, 3))}),
    "no initial state": ("LSTM", {}, {"starts": False}),
    "no bias": ("RNN", {}, {"biases": False}),
    "another activation": ("RNN", {}, {"activations": ["Relu"]}),
    "activations exchanged": ("LSTM", {}, {"activations": ["Sigmoid", "Tanh", "Sigmoid"]}),
    "shorter sequences": ("GRU", {}, {"lengths": [4, 4]}),
}  # fmt: skip

FAITHFUL = {
    "LSTM biases in either half": ("LSTM", {}, {"change": halves(0, 5, 9)}),
    "GRU biases of gates in either half": (
        "GRU", {"linear_before_reset": 1}, {"linear_before_reset": 1, "change": halves(0, 5)},
    ),
    "lengths that are those of the tensor": ("RNN", {}, {"lengths": [5, 5]}),
    "activations that are the usual ones": ("GRU", {}, {"activations": ["Sigmoid", "Tanh"]}),
}  # fmt: skip


def proof(op, one, other):
    (left, feeds), (right, _) = recurrent(op, **one), recurrent(op, **other)
    names = [each.name for each in right.graph.input]
    if len(names) < len(feeds):
        # Without its states the candidate has fewer inputs; zeros are the same function of x.
        left = without_states(left, feeds)
        feeds = {name: feeds[name] for name in names}
    return isomorph.prove(left, right, inputs=feeds, in_process=True)


def without_states(model, feeds):
    """The same model with its initial states as constants."""
    for name in [each for each in feeds if each != "x"]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(feeds[name], name))
    del model.graph.input[1:]
    return model


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_layers_that_differ_are_not_proven(name):
    found = proof(*PAIRS[name])
    assert not any(each.standing == "proven" for each in found.outputs), found.outputs
    assert found.outputs[0].open.op in ("LSTM", "GRU", "RNN")


@pytest.mark.parametrize("name", sorted(FAITHFUL))
def test_layers_that_are_equal_are_proven(name):
    op, one, other = FAITHFUL[name]
    assert proof(op, one, other).whole
    assert proof(op, other, one).whole


def test_states_that_were_exchanged_are_not_proven():
    left, feeds = recurrent("LSTM")
    right, _ = recurrent("LSTM")
    node = right.graph.node[0]
    node.input[5], node.input[6] = node.input[6], node.input[5]
    found = isomorph.prove(left, right, inputs=feeds, in_process=True)
    assert not any(each.standing == "proven" for each in found.outputs)


def test_the_last_output_is_the_last_state_of_a_forward_layer_alone():
    for direction, equal in (("forward", True), ("reverse", False)):
        left, feeds = recurrent("GRU", direction=direction)
        right, _ = recurrent("GRU", direction=direction)
        for model, source in ((left, "h"), (right, "y")):
            node = (
                onnx.helper.make_node("Identity", ["h"], ["end"])
                if source == "h"
                else onnx.helper.make_node("Gather", ["y", "last"], ["end"], axis=0)
            )
            model.graph.node.append(node)
            del model.graph.output[:]
            model.graph.output.append(onnx.helper.make_tensor_value_info("end", 1, None))
        right.graph.initializer.append(onnx.numpy_helper.from_array(np.array(-1), "last"))
        found = isomorph.prove(left, right, inputs=feeds, in_process=True)
        assert found.whole == equal
