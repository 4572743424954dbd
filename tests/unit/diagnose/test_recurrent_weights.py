"""Weights of recurrent nodes, stacked from another framework's and put in another order."""

from types import SimpleNamespace

import numpy as np

from isomorph.diagnose.recurrent_weights import (
    in_order,
    likely_order,
    recurrent,
    singles,
    stacked,
)


def test_single_matrices_are_stacked_direction_by_direction():
    hidden, width = 2, 3
    gates = {name: np.full((hidden, width), place) for place, name in enumerate("ifgo")}
    forward = np.concatenate([gates[name] for name in "ifgo"]).astype(float)
    known = [forward, forward + 10, np.arange(8.0), np.arange(8.0) + 100]
    (single,) = stacked((1, 8, 3), known[:1] + known[2:], (0, 3, 1, 2))
    assert single[0, ::hidden, 0].tolist() == [0, 3, 1, 2]
    (both,) = stacked((2, 8, 3), known, (0, 3, 1, 2))
    assert both[1, ::hidden, 0].tolist() == [10, 13, 11, 12]
    (bias,) = stacked((1, 16), known, (0, 3, 1, 2))
    assert bias[0, ::hidden].tolist() == [0, 6, 2, 4, 100, 106, 102, 104]


def test_a_transposed_matrix_is_turned():
    kernel = np.arange(24.0).reshape(3, 8)
    (whole,) = stacked((1, 8, 3), [kernel], (0, 1, 2, 3))
    assert np.array_equal(whole[0], kernel.T)


def test_blocks_that_do_not_divide_stay_as_they_are():
    value = np.arange(7.0)
    assert np.array_equal(in_order(value, (1, 0)), value)


def test_the_order_of_gates_is_seen_in_the_blocks_that_are_right():
    right = np.arange(24.0).reshape(8, 3) + 1.0
    packed = in_order(right, (2, 0, 3, 1))[np.newaxis]
    assert likely_order(packed, [right], 4) == (2, 0, 3, 1)
    packed[0, 2:4] *= -1.0  # one gate is wrong
    assert likely_order(packed, [right], 4) == (2, 0, 3, 1)
    packed[0, 6:] *= -1.0
    assert likely_order(packed, [right], 4) is None


def test_both_biases_may_be_one():
    one, other = np.arange(8.0), np.arange(8.0) + 100
    (joined,) = stacked((1, 8), [one, other], (1, 0, 2, 3))
    assert joined[0].tolist() == in_order(one + other, (1, 0, 2, 3)).tolist()
    assert likely_order(joined, [one, other], 4) == (1, 0, 2, 3)


def test_directions_are_taken_apart():
    kernel, bias = np.arange(48.0).reshape(2, 8, 3), np.arange(32.0).reshape(2, 16)
    found = list(singles([kernel, bias], 4))
    assert [each.shape for each in found] == [(8, 3), (8, 3), (8,), (8,), (8,), (8,)]
    assert np.array_equal(found[3], bias[0, 8:])


def test_biases_of_a_later_layer_are_found_behind_those_of_an_earlier_one():
    vectors = [np.full(4, float(place)) for place in range(8)]
    found = list(stacked((2, 8), vectors, (0,)))
    assert [whole[:, ::4].tolist() for whole in found] == [
        [[0.0, 1.0], [2.0, 3.0]],
        [[2.0, 3.0], [4.0, 5.0]],
        [[4.0, 5.0], [6.0, 7.0]],
    ]


def layers(random, count):
    """Weights of so many directions as PyTorch states them: two matrices, two vectors each."""
    return [random.normal(size=size) for _ in range(count) for size in ((4, 3), (4, 1), (4,), (4,))]


def test_all_weights_of_a_layer_are_put_back_together():
    known = layers(np.random.default_rng(0), 4)
    names = [f"r{place}" for place in range(len(known))]
    order = (0, 3, 1, 2)
    right = {
        "w": next(stacked((2, 4, 3), [known[8], known[12]], order)),
        "r": next(stacked((2, 4, 1), [known[9], known[13]], order)),
        "b": next(stacked((2, 8), [*known[10:12], *known[14:16]], order)),
    }
    wrong = {name: value[::-1].copy() for name, value in right.items()}
    values = dict(zip(names, known, strict=True)) | wrong

    def graph(inputs):
        constants = {
            name: SimpleNamespace(dtype="float32", shape=values[name].shape, values=None)
            for name in inputs
        }
        node = SimpleNamespace(op="LSTM", inputs=("x", *inputs), outputs=("y",), bodies={})
        return SimpleNamespace(nodes=(node,), constants=constants), node

    (reference, layer), (candidate, node) = graph(names), graph(tuple(wrong))
    context = SimpleNamespace(
        reference=reference, candidate=candidate, nodes=(node,), counterparts=(layer,),
        constant=lambda _, name: values[name],
    )  # fmt: skip
    found = [dict(change) for change, _ in recurrent(context)]
    assert any(
        change.keys() == right.keys()
        and all(np.array_equal(change[name], right[name]) for name in right)
        for change in found
    )
