"""What happened to the integers of a quantized weight, by the real numbers they stand for."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Node, Quantization
from isomorph.diagnose.tensor_grids import _grid_change, bias_scale, misread_weight, readers, step

STEPS = np.array(0.125)
RIGHT = np.random.default_rng(0).integers(-60, 60, (8, 16)) * STEPS
ROUNDED = RIGHT + np.random.default_rng(1).uniform(-0.5, 0.5, RIGHT.shape) * STEPS


def by_channel(factors):
    return np.asarray(factors)[:, None] * RIGHT


@pytest.mark.parametrize(
    ("wrong", "cause", "words"),
    [
        (RIGHT + 256 * STEPS * (RIGHT < 0), "quantization", "uint8"),
        (RIGHT * 4, "quantization", "times too large"),
        (RIGHT + 9 * STEPS, "quantization", "shifted by 9 steps"),
        (RIGHT + 50 * STEPS * (np.arange(128).reshape(8, 16) % 31 == 0), "weight", "5 of 128"),
        (RIGHT[:, ::-1], "weight", ""),
        (-RIGHT[::-1] + 3 * STEPS, "weight", "other values"),
    ],
    ids=["sign", "scale", "zero point", "few", "order", "others"],
)
@pytest.mark.parametrize("right", [RIGHT, ROUNDED], ids=["on the grid", "before it"])
def test_the_change_is_named_up_to_the_rounding_of_the_grid(wrong, cause, words, right):
    text, found = _grid_change(wrong, right, STEPS)
    assert (found, words in text) == (cause, True)


def test_scales_of_single_channels_are_counted():
    steps = np.full((8, 1), 0.125)
    text, cause = _grid_change(by_channel([1, 1, 3, 1, 0.25, 1, 1, 1]), RIGHT, steps)
    assert (cause, "2 of 8 channels" in text) == ("quantization", True)


def node(op, inputs, output, **more):
    return Node(
        name=f"make_{output}", op=op, native_op=op, inputs=tuple(inputs.split()),
        outputs=(output,), **more,
    )  # fmt: skip


def graph(*nodes, stored=(), grids=()):
    constants = {
        name: Constant(name=name, dtype=dtype, shape=shape, digest=name, value_digest=name)
        for name, dtype, shape in stored
    }
    return Graph(
        name="g", inputs=(), outputs=(), nodes=nodes, tensors={}, constants=constants,
        quantization=tuple(grids),
    )  # fmt: skip


def grid(tensor, *scale, axis=None):
    return Quantization(
        tensor=tensor, dtype="int8", scale=scale, zero_point=(0,) * len(scale), axis=axis
    )


DEQUANTIZED = graph(
    node("DequantizeLinear", "w_q s", "w"),
    node("DequantizeLinear", "h", "wide"),
    node("MatMul", "x w", "y"),
    stored=[("w_q", "int8", (8, 16)), ("s", "float32", ()), ("h", "float16", (8, 16))],
    grids=[grid("w_q", 0.125), grid("y", 0.5), grid("x", 0.25)],
)
FLOAT = graph(node("MatMul", "x v", "y"), stored=[("v", "float32", (8, 16))])


def context(wrong, restores=False, **more):
    return SimpleNamespace(
        candidate=DEQUANTIZED,
        reference=FLOAT,
        nodes=DEQUANTIZED.nodes[-1:],
        counterparts=FLOAT.nodes,
        tensor="y",
        constant=lambda made, name: {"s": STEPS, "v": RIGHT}.get(name),
        value=lambda made, name: {"w": wrong, "v": RIGHT}.get(name),
        restores=lambda feeds: restores and np.array_equal(feeds.get("w", 0), RIGHT),
        same_framework=True,
        **more,
    )


def test_only_what_reads_a_stored_weight_through_a_grid_is_its_reader():
    assert [each.name for each in readers(context(RIGHT))] == ["make_w"]


def test_the_step_is_that_of_the_wrong_tensor_itself():
    assert step(context(RIGHT)) == 0.5
    assert step(SimpleNamespace(**{**vars(context(RIGHT)), "tensor": "other"})) == 0.5
    bare = graph(*DEQUANTIZED.nodes)
    assert step(SimpleNamespace(**{**vars(context(RIGHT)), "candidate": bare})) is None


def test_a_weight_is_misread_where_the_right_one_restores_the_node_or_is_a_multiple():
    name, words, cause = misread_weight(context(RIGHT + 9 * STEPS, restores=True))
    assert (name, cause, "zero point" in words) == ("w_q", "quantization", True)
    name, words, _ = misread_weight(context(RIGHT * 4))
    assert (name, "4 times" in words) == ("w_q", True)


def test_a_weight_that_is_right_or_whose_change_restores_nothing_is_not_misread():
    assert misread_weight(context(ROUNDED, restores=True)) is None
    assert misread_weight(context(RIGHT + 9 * STEPS, restores=False)) is None


def test_where_the_grid_stands_beside_a_weight_it_must_remove_most_of_the_error():
    made = graph(
        node("MatMul", "x w", "y"), stored=[("w", "int8", (8, 16))], grids=[grid("w", 0.125)]
    )

    def beside(left):
        wrong = RIGHT + 9 * STEPS
        return SimpleNamespace(
            **{
                **vars(context(wrong)),
                "candidate": made,
                "nodes": made.nodes,
                "constant": lambda made, name: None,
                "right": np.zeros(4),
                "wrong": np.ones(4),
                "rehearse": lambda patch: np.full(4, left),
            }
        )

    name, _, cause = misread_weight(beside(0.25))
    assert (name, cause) == ("w", "quantization")
    assert misread_weight(beside(0.26)) is None


@pytest.mark.parametrize(
    ("scale", "off"), [((0.5,), False), ((0.5 * (1 + 1e-7),), False), ((1.0,), True)]
)
def test_a_bias_counts_in_the_product_of_two_scales(scale, off):
    linear = graph(
        node("Conv", "x w b", "y"), grids=[grid("x", 2.0), grid("w", 0.25), grid("b", *scale)]
    )
    found = bias_scale(SimpleNamespace(candidate=linear, nodes=linear.nodes))
    assert (found is not None) == off
    if off:
        assert "2 times" in found


def test_of_several_channels_the_first_that_is_off_is_named():
    linear = graph(
        node("Conv", "x w b", "y"),
        grids=[grid("x", 2.0), grid("w", 0.25, 0.5, axis=0), grid("b", 0.5, 3.0, axis=0)],
    )
    assert "3 times" in bias_scale(SimpleNamespace(candidate=linear, nodes=linear.nodes))


def test_without_a_grid_of_all_three_nothing_is_known_of_a_bias():
    linear = graph(node("Conv", "x w b", "y"), grids=[grid("x", 2.0), grid("b", 9.0)])
    assert bias_scale(SimpleNamespace(candidate=linear, nodes=linear.nodes)) is None
