"""What a proof takes ATen's operators to mean, held to torch itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from isomorph.frameworks.pytorch.meanings import MEANINGS
from spelled_values import spelled_values

torch = pytest.importorskip("torch")

I64 = torch.int64


def f(*shape):
    return torch.randn(*shape)


def positive(*shape):
    return torch.rand(*shape) + 0.5


def flags(*shape):
    return torch.rand(*shape) > 0.5


def weights(rows, *, directions=1, biases=True):
    """Of one recurrent layer of 3 features and 4 hidden units."""
    each = [(rows, 3), (rows, 4)] + ([(rows,), (rows,)] if biases else [])
    return [f(*shape) for shape in each * directions]


X, P, V = (f(2, 3, 4),), (positive(2, 3, 4),), (f(4),)
IMAGE = f(2, 4, 9, 8)
UNARY = re.findall(r"\w+", """
    exp erf tanh sin cos tan sinh cosh atan asinh floor ceil sign neg abs square relu relu6 sigmoid
    silu hardsigmoid hardswish leaky_relu elu softplus gelu alias detach clone contiguous round
    lift_fresh_copy
""")  # fmt: skip
CASES = {
    **{f"{name}.default": [X] for name in UNARY},
    **{f"{name}.default": [P] for name in ("log", "sqrt", "rsqrt", "reciprocal")},
    **{f"{name}.default": [(torch.rand(2, 3) * 0.9,)] for name in ("asin", "acos", "atanh")},
    "acosh.default": [(positive(2, 3) + 1,)],
    "softplus.default": [X],
    "gelu.default": [X, (*X, {"approximate": "tanh"})],
    "elu.default": [X, (*X, 0.7)],
    "leaky_relu.default": [X, (*X, 0.3)],
    "hardtanh.default": [X, (*X, -0.5, 0.7)],
    "add.Tensor": [(f(2, 3), f(3)), (f(2, 3), f(2, 3), {"alpha": 2.5})],
    "add.Scalar": [(f(2, 3), 1.5), (f(2, 3), 1.5, 2)],
    "sub.Tensor": [(f(2, 3), f(3)), (f(2, 3), f(2, 3), {"alpha": 0.3})],
    "sub.Scalar": [(f(2, 3), 1.5)],
    "rsub.Tensor": [(f(2, 3), f(3))],
    "rsub.Scalar": [(f(2, 3), 1.5)],
    "mul.Tensor": [(f(2, 3), f(3))],
    "mul.Scalar": [(f(2, 3), 1.1)],
    "div.Tensor": [(f(2, 3), positive(3))],
    "div.Scalar": [(f(2, 3), 3)],
    **{f"{n}.Tensor": [(f(2, 3), f(3))] for n in ("lt", "less", "gt", "le", "ge", "eq", "ne")},
    **{f"{n}.Scalar": [(f(2, 3), 0.5)] for n in ("lt", "less", "gt", "le", "ge", "eq", "ne")},
    **{f"logical_{n}.default": [(flags(2, 3), flags(3))] for n in ("and", "or")},
    **{f"bitwise_{n}.Tensor": [(flags(2, 3), flags(3))] for n in ("and", "or")},
    **{f"__{n}__.Tensor": [(flags(2, 3), flags(3))] for n in ("and", "or")},
    "logical_not.default": [(flags(2, 3),)],
    "bitwise_not.default": [(flags(2, 3),)],
    **{f"{n}.default": [(f(2, 3), f(3))] for n in ("maximum", "minimum")},
    **{f"{n}.other": [(f(2, 3), f(3))] for n in ("max", "min")},
    "prelu.default": [(f(2, 3, 4), positive(3)), (f(2, 3), positive(1))],
    "pow.Tensor_Scalar": [(f(2, 3), 2), (f(2, 3), 3), (positive(2, 3), 0.5),
                          (positive(2, 3), -0.5), (positive(2, 3), 1.7), (positive(2, 3), -1)],
    "pow.Tensor_Tensor": [(positive(2, 3), f(3))],
    "clamp.default": [(f(9), -0.5, 0.5), (f(9), None, 0.1), (f(9), 0.5, -0.5)],
    "clamp_min.default": [(f(9), 0.1)],
    "clamp_max.default": [(f(9), 0.1)],
    "where.self": [(flags(2, 3), f(3), f(2, 1))],
    "where.Scalar": [(flags(2, 3), 0.5, -2.5)],
    "where.ScalarSelf": [(flags(2, 3), 0.5, f(3))],
    "where.ScalarOther": [(flags(2, 3), f(3), 0.5)],
    "masked_fill.Scalar": [(f(2, 3), flags(3), -2.0)],
    "masked_fill.Tensor": [(f(2, 3), flags(3), torch.tensor(1.5))],
    "to.dtype": [(f(3), torch.float64), (torch.arange(3), torch.float32)],
    "to.dtype_layout": [(torch.arange(3), {"dtype": torch.float32, "layout": torch.strided,
                                           "device": torch.device("cpu")})],
    "to.device": [(torch.arange(3), torch.device("cpu"), torch.float32)],
    "_to_copy.default": [(f(3), {"dtype": torch.float64})],
    "dropout.default": [(f(3), 0.5, False)],
    "feature_dropout.default": [(f(3, 4), 0.5, False)],
    "matmul.default": [(f(2, 3, 4), f(4, 5)), (f(4), f(4)), (f(3, 4), f(4)), (f(4), f(2, 4, 3))],
    "mm.default": [(f(3, 4), f(4, 5))],
    "bmm.default": [(f(2, 3, 4), f(2, 4, 5))],
    "linear.default": [(f(2, 3, 4), f(5, 4), f(5)), (f(4), f(5, 4))],
    "addmm.default": [(f(5), f(3, 4), f(4, 5)),
                      (f(5), f(3, 4), f(4, 5), {"beta": 0.5, "alpha": 2.0})],
    "softmax.int": [(f(2, 3, 4), 1)],
    "_softmax.default": [(f(2, 3, 4), -1, False)],
    "log_softmax.int": [(f(2, 3, 4), 1)],
    "_log_softmax.default": [(f(2, 3, 4), -1, False)],
    "layer_norm.default": [(f(2, 3, 4), [3, 4], f(3, 4), f(3, 4), 1e-3), (f(2, 4), [4])],
    "rms_norm.default": [(f(2, 4), [4], f(4), 1e-3)],
    "batch_norm.default": [
        (f(2, 3, 4), f(3), f(3), f(3), positive(3), False, 0.1, 1e-3, False),
        (f(2, 3, 4), None, None, f(3), positive(3), False, 0.1, 1e-3, False),
    ],
    "group_norm.default": [(f(2, 6, 4), 3, f(6), f(6), 1e-3, False)],
    "instance_norm.default": [
        (f(2, 3, 4), f(3), f(3), None, None, True, 0.1, 1e-3, False)
    ],
    "scaled_dot_product_attention.default": [
        (f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 6)),
        (f(2, 2, 3, 4), f(2, 2, 3, 4), f(2, 2, 3, 4), None, 0.0, True),
        (f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4), f(3, 3), {"scale": 0.3}),
    ],
    "sum.dim_IntList": [(f(2, 3, 4), [0, 2]), (f(2, 3, 4), [1], True)],
    "sum.default": [X],
    "mean.dim": [(f(2, 3, 4), [0, 2]), (f(2, 3, 4), [-1], True)],
    "mean.default": [X],
    "amax.default": [(f(2, 3, 4), [1]), (f(2, 3, 4), [0, 2], True)],
    "amin.default": [(f(2, 3, 4), [1])],
    "var.correction": [(f(2, 3, 4), [1]), (f(2, 3, 4), [1], {"correction": 0, "keepdim": True})],
    "var.dim": [(f(2, 3, 4), [1]), (f(2, 3, 4), [1], False, True)],
    "linalg_vector_norm.default": [(f(2, 3, 4), 2, [1])],
    "argmax.default": [(f(2, 3, 4), 1), (f(2, 3, 4), -1, True)],
    "cumsum.default": [(f(2, 3, 4), 1)],
    "view.default": [(f(2, 3, 4), [6, -1])],
    "reshape.default": [(f(2, 3, 4), [6, -1])],
    "_unsafe_view.default": [(f(2, 3, 4), [6, 4])],
    "flatten.using_ints": [(f(2, 3, 4), 1), (f(2, 3, 4), 0, 1)],
    "unflatten.int": [(f(2, 6), 1, [2, 3])],
    "permute.default": [(f(2, 3, 4), [2, 0, 1])],
    "transpose.int": [(f(2, 3, 4), 0, -1)],
    "t.default": [(f(2, 3),), (f(3),)],
    "unsqueeze.default": [(f(2, 3), 1), (f(2, 3), -1)],
    "squeeze.dim": [(f(2, 1, 3), 1), (f(2, 1, 3), 0)],
    "squeeze.dims": [(f(2, 1, 3, 1), [1, 3])],
    "squeeze.default": [(f(2, 1, 3, 1),)],
    "slice.Tensor": [(f(5, 6), 1, 1, -1, 2), (f(5, 6), 0, -3)],
    "narrow.default": [(f(5, 6), 1, 2, 3)],
    "select.int": [(f(5, 6), 1, -2)],
    "split.Tensor": [(f(5, 6), 2, 0)],
    "split_with_sizes.default": [(f(5, 6), [1, 4], 0)],
    "chunk.default": [(f(5, 6), 3, 0)],
    "unbind.int": [(f(2, 3), 1)],
    "cat.default": [([f(2, 3), f(2, 1)], 1)],
    "stack.default": [([f(2, 3), f(2, 3)], 1)],
    "expand.default": [(f(3, 1), [2, -1, 4])],
    "repeat.default": [(f(2, 3), [2, 1, 3])],
    "repeat_interleave.self_int": [(f(2, 3), 2, 1)],
    "flip.default": [(f(2, 3), [0, 1])],
    "roll.default": [(f(4, 5), [1, -2], [0, 1])],
    "embedding.default": [(f(7, 3), torch.randint(0, 7, (2, 4)))],
    "index_select.default": [(f(7, 3), 0, torch.tensor([1, 3]))],
    "pad.default": [(f(2, 3), [1, 2]), (f(2, 3), [1, -1, 0, 2], "constant", 0.5)],
    "constant_pad_nd.default": [(f(2, 3), [1, 2], 1.5)],
    "pixel_shuffle.default": [(f(1, 8, 2, 3), 2)],
    "conv1d.default": [(f(2, 4, 9), f(6, 2, 3), f(6), [2], [1], [2], 2)],
    "conv2d.default": [(IMAGE, f(6, 2, 3, 2), f(6), [2, 1], [1, 0], [2, 3], 2),
                       (IMAGE, f(4, 1, 3, 3), None, [1], [1], [1], 4)],
    "conv1d.padding": [(f(2, 4, 9), f(6, 2, 4), f(6), [1], "same", [2], 2)],
    "conv2d.padding": [(IMAGE, f(6, 4, 3, 2), f(6), [1, 1], "same", [2, 1], 1),
                       (IMAGE, f(6, 4, 4, 4), None, [1, 1], "same"),
                       (IMAGE, f(6, 4, 3, 2), f(6), [2, 1], "valid")],
    "conv3d.default": [(f(1, 2, 4, 5, 6), f(3, 2, 2, 2, 3), f(3))],
    "convolution.default": [
        (IMAGE, f(6, 4, 3, 3), f(6), [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
        (IMAGE, f(4, 3, 3, 3), f(6), [2, 3], [1, 0], [1, 2], True, [1, 0], 2),
    ],
    "conv_transpose1d.default": [(f(2, 4, 9), f(4, 3, 3), f(6), [2], [1], [1], 2, [1])],
    "conv_transpose2d.input": [(IMAGE, f(4, 3, 3, 2), f(3), [2, 3], [1, 0], [1, 2], 1, [1, 2])],
    "conv_transpose3d.input": [(f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2), f(3))],
    "max_pool1d.default": [(f(2, 3, 9), [3], [2], [1])],
    "max_pool2d.default": [(IMAGE, [3, 2], [2, 2], [1, 0], [1, 2]),
                           (IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], True)],
    "max_pool3d.default": [(f(1, 2, 5, 5, 5), [2, 2, 2])],
    "avg_pool1d.default": [(f(2, 3, 9), [3], [2], [1])],
    "avg_pool2d.default": [(IMAGE, [3, 2], [2, 2], [1, 0]),
                           (IMAGE, [3, 3], [2, 2], [1, 1], True, False),
                           (IMAGE, [3, 3], [2, 2], [1, 1], True, True),
                           (IMAGE, [2, 3], [2, 2], [1, 1], False, True, 7),
                           (IMAGE, [64, 64], [64, 64], [0, 0], True, True),
                           (IMAGE, [4, 64], [2, 64], [1, 3], True, False)],
    "avg_pool3d.default": [(f(1, 2, 5, 5, 5), [2, 2, 2])],
    "upsample_linear1d.vec": [(f(2, 3, 5), [8], False, None), (f(2, 3, 5), [8], True, None)],
    "upsample_bilinear2d.vec": [(IMAGE, [12, 5], False, None), (IMAGE, [12, 5], True, None),
                                (IMAGE, None, False, [2.0, 3.0]), (IMAGE, None, False, [1.5, 0.5])],
    "upsample_nearest1d.vec": [(f(2, 3, 5), [15], None)],
    "upsample_nearest2d.vec": [(IMAGE, [27, 16], None), (IMAGE, None, [2.0, 3.0])],
    "adaptive_avg_pool1d.default": [(f(2, 3, 8), [4])],
    "adaptive_avg_pool2d.default": [(f(2, 3, 8, 6), [1, 1]), (f(2, 3, 8, 6), [4, 3])],
    "adaptive_avg_pool3d.default": [(f(2, 3, 4, 4, 4), [2, 2, 2])],
    "_adaptive_avg_pool2d.default": [(f(2, 3, 8, 6), [4, 3])],
    "lstm.input": [
        (f(5, 2, 3), [f(1, 2, 4), f(1, 2, 4)], weights(16), True, 1, 0.0, False, False, False),
        (f(2, 5, 3), [f(2, 2, 4), f(2, 2, 4)], weights(16, directions=2, biases=False), False, 1,
         0.5, False, True, True),
    ],
    **{
        f"{name}.input": [
            (f(5, 2, 3), f(1, 2, 4), weights(gates), True, 1, 0.0, False, False, False),
            (f(2, 5, 3), f(2, 2, 4), weights(gates, directions=2), True, 1, 0.0, True, True, True),
        ]
        for name, gates in (("gru", 12), ("rnn_tanh", 4), ("rnn_relu", 4))
    },
    "lstm_cell.default": [(f(2, 3), [f(2, 4), f(2, 4)], *weights(16))],
    "gru_cell.default": [(f(2, 3), f(2, 4), *weights(12))],
    "rnn_tanh_cell.default": [(f(2, 3), f(2, 4), *weights(4))],
    "rnn_relu_cell.default": [(f(2, 3), f(2, 4), *weights(4, biases=False))],
}  # fmt: skip
STATISTICS = {"native_layer_norm.default", "_native_batch_norm_legit_no_training.default"}
"""They have further outputs, and are refused where the file lists them."""


@dataclass
class Case:
    """An operator and its arguments; ``fresh``: its in-place form, on a new tensor."""

    name: str
    arguments: tuple
    fresh: bool = False

    @property
    def tensors(self):
        found = []
        for each in self.arguments:
            if isinstance(each, torch.Tensor):
                found.append(each)
            elif isinstance(each, list):
                found += [item for item in each if isinstance(item, torch.Tensor)]
        return found

    def apply(self, given):
        """The results on these tensors, in the places of the case's own."""
        named, arguments = {}, []
        for each in self.arguments:
            if isinstance(each, dict):
                named = each
            elif isinstance(each, torch.Tensor):
                arguments.append(next(given))
            elif isinstance(each, list) and each and isinstance(each[0], torch.Tensor):
                arguments.append([next(given) for _ in each])
            else:
                arguments.append(each)
        if self.fresh:
            arguments[0] = arguments[0] + 0.25
        word, overload = self.name.split(".")
        made = getattr(getattr(torch.ops.aten, word), overload)(*arguments, **named)
        return list(made) if isinstance(made, (list, tuple)) else [made]


class Together(torch.nn.Module):
    """Many cases in one module: exporting each alone would take minutes."""

    def __init__(self, cases):
        super().__init__()
        self.cases = cases

    def forward(self, *given):
        given = iter(given)
        return tuple(made for case in self.cases for made in case.apply(given))


def all_cases():
    plain = [Case(name, arguments) for name in sorted(CASES) for arguments in CASES[name]]
    words = [name.removeprefix("aten.") for name in sorted(MEANINGS.spelled)]
    in_place = [word for word in words if word.split(".")[0].endswith("_") and "__" not in word]
    return plain + [Case(word, CASES[word.replace("_.", ".")][0], fresh=True) for word in in_place]


def spelled(cases):
    """Pairs of an operator's name, its results here, and torch's."""
    given = [each for case in cases for each in case.tensors]
    module = Together(cases)
    wanted = [case.name for case in cases for _ in case.apply(iter(case.tensors))]
    results = module(*[each.clone() for each in given])
    exported = torch.export.export(module, tuple(each.clone() for each in given))
    inputs = exported.graph_signature.user_inputs
    feeds = {name: each.numpy() for name, each in zip(inputs, given, strict=True)}
    used = {str(node.target) for node in exported.graph.nodes if node.op == "call_function"}
    assert {f"aten.{case.name}" for case in cases} <= used
    made, _ = spelled_values(exported, feeds)
    assert not isinstance(made, str), made
    return zip(wanted, made, [each.numpy() for each in results], strict=True)


def test_every_meaning_is_that_of_torch():
    for name, one, other in spelled(all_cases()):
        assert one.shape == other.shape, name
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6, err_msg=name)


def test_every_operator_has_a_case():
    plain = {
        name.removeprefix("aten.")
        for name in MEANINGS.spelled
        if not name.split(".")[1].endswith("_") or "__" in name
    } - MEANINGS.controlled
    assert plain - set(CASES) - STATISTICS == set()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dropout.default", (f(3), 0.5, True)),
        ("batch_norm.default", (f(2, 3, 4), f(3), f(3), f(3), positive(3), True, 0.1, 1e-3, False)),
        ("div.Tensor_mode", (f(3), f(3), {"rounding_mode": "floor"})),
        ("randn_like.default", (f(3),)),
        # A stack that drops values in training, and a projection of the state.
        (
            "lstm.input",
            (
                f(5, 2, 3),
                [f(2, 2, 4), f(2, 2, 4)],
                [*weights(16), f(16, 4), f(16, 4), f(16), f(16)],
                True,
                2,
                0.5,
                True,
                False,
                False,
            ),
        ),
        (
            "lstm.input",
            (
                f(5, 2, 3),
                [f(1, 2, 2), f(1, 2, 4)],
                [f(16, 3), f(16, 2), f(16), f(16), f(2, 4)],
                True,
                1,
                0.0,
                False,
                False,
                False,
            ),
        ),
    ],
)
def test_what_trains_rounds_or_draws_has_no_meaning(name, arguments):
    with pytest.raises(AssertionError, match=name.split(".")[0]):
        list(spelled([Case(name, arguments)]))
