"""What follows from sizes alone is spelled for every size, and is the number for one."""

import numpy as np
import pytest

from isomorph.core.model import Node
from isomorph.frameworks.onnx.meanings_control import IN_BODIES as ONNX
from isomorph.frameworks.pytorch.meanings_sizes import SIZES as TORCH
from isomorph.frameworks.tensorflow.meanings_control import IN_BODIES as TENSORFLOW
from isomorph.frameworks.tflite.meanings_control import IN_BODIES as TFLITE
from isomorph.proof.calls import Call
from isomorph.proof.implied_numbers import ImpliedNumbers
from isomorph.proof.sizes import Symbol, same, symbolic, tried
from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms

N = symbolic(Symbol("n", 7))


def called(table, op, inputs, **attributes):
    """The only result of an operator, and the terms that made it."""
    terms = Terms()
    made = [
        terms.input(f"x{at}", each, "float32")
        if isinstance(each, tuple)
        else terms.stated(np.array(each, object), "int64")
        for at, each in enumerate(inputs)
    ]
    names = tuple(f"x{at}" for at in range(len(made)))
    node = Node(name="k", op=op, native_op=op, inputs=names, outputs=("y",), attributes=attributes)
    call = Call(
        node=node, inputs=tuple(made), terms=terms, implied=ImpliedNumbers(own=(), other=())
    )
    (found,) = table[op](call)
    assert not node.attributes.keys() - call.asked
    return found


LISTED = {
    "ONNX's shape": (ONNX, "Shape", [(N, 4)], {}, (N, 4)),
    "a part of ONNX's shape": (ONNX, "Shape", [(N, 4)], {"start": 0, "end": 1}, (N,)),
    "ONNX's number of elements": (ONNX, "Size", [(N, 4)], {}, (4 * N,)),
    "ONNX's product": (ONNX, "ReduceProd", [[N, 4]], {"keepdims": 1, "axes": (0,)}, (4 * N,)),
    "TensorFlow's shape": (TENSORFLOW, "Shape", [(N, 4)], {"out_type": "int64"}, (N, 4)),
    "TensorFlow's product": (TENSORFLOW, "Prod", [[N, 4], [0]], {"keep_dims": False}, (4 * N,)),
    "TFLite's shape": (TFLITE, "SHAPE", [(N, 4)], {"out_type": "int32"}, (N, 4)),
    "TFLite's product": (TFLITE, "REDUCE_PROD", [[N, 4], [0]], {"keep_dims": True}, (4 * N,)),
    "torch's size": (TORCH, "aten.sym_size.int", [(3, N)], {"dim": -1}, (N,)),
    "torch's sum": (TORCH, "operator.add", [N], {"argument_1": 3}, (N + 3,)),
    "torch's difference": (TORCH, "operator.sub", [N], {"argument_0": 3}, (-N + 3,)),
    "torch's product": (TORCH, "operator.mul", [N, N], {}, (N * N,)),
    "torch's quotient": (TORCH, "operator.floordiv", [4 * N], {"argument_1": 2}, (2 * N,)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LISTED))
def test_sizes_are_listed_as_polynomials(name):
    table, op, inputs, attributes, expected = LISTED[name]
    found = called(table, op, inputs, **attributes)
    assert same(tuple(found.value().reshape(-1)), expected)
    if not op.startswith("operator."):
        # Of numbers, torch's arithmetic is evaluated by the oracle.
        plain = [tried(each) if isinstance(each, tuple) else list(tried(tuple(each)))
                 for each in inputs]  # fmt: skip
        assert tuple(called(table, op, plain, **attributes).value().reshape(-1)) == tried(expected)


FILLED = {
    "ONNX's zeros": (ONNX, "ConstantOfShape", [[N, 4]], {}, 0.0),
    "ONNX's numbers": (
        ONNX, "ConstantOfShape", [[N, 4]],
        {"value": {"dtype": "float32", "shape": (1,), "values": (2.5,)}}, 2.5,
    ),
    "TensorFlow's zeros": (TENSORFLOW, "ZerosLike", [(N, 4)], {}, 0.0),
    "TensorFlow's ones": (TENSORFLOW, "OnesLike", [(N, 4)], {}, 1.0),
    "TFLite's zeros": (TFLITE, "ZEROS_LIKE", [(N, 4)], {}, 0.0),
    "torch's zeros": (TORCH, "aten.zeros.default", [N], {"size": ("x0", 4), "dtype": None}, 0.0),
    "torch's ones": (
        TORCH, "aten.new_ones.default", [(3,), N], {"size": ("x1", 4), "dtype": None}, 1.0,
    ),
    "torch's numbers": (
        TORCH, "aten.full_like.default", [(N, 4)], {"fill_value": 2.5, "dtype": None}, 2.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FILLED))
def test_a_tensor_of_one_number_has_any_size(name):
    table, op, inputs, attributes, number = FILLED[name]
    found = called(table, op, inputs, **attributes)
    assert found.op == "expand"
    assert same(found.shape, (N, 4))
    assert found.inputs[0].value() == number


def test_a_tensor_of_one_number_keeps_it_however_it_is_moved():
    terms = Terms()
    zero = terms.filled(terms.number(2.0, "float32"), (N, 3, 4))
    assert terms.reshape(zero, (12 * N,)) is terms.filled(terms.number(2.0, "float32"), (12 * N,))
    row = terms.reshape(terms.slice(zero, 1, 0, 1), (N, 4))
    assert row is terms.expand(terms.constant(np.array([[2.0]]), "float32"), (N, 4))


def test_numbers_up_to_a_size_are_one_term():
    one = called(ONNX, "Range", [0, N, 1])
    other = called(TORCH, "aten.arange.default", [N], dtype=None)
    assert (one.op, one.attrs, one.dtype) == (other.op, other.attrs, other.dtype)
    assert called(ONNX, "Range", [0, 3, 1]).value().tolist() == [0, 1, 2]
    with pytest.raises(NoMeaningError):
        called(ONNX, "Range", [1, N, 1])


def indexed(*places, size=N):
    terms = Terms()
    ones = terms.filled(terms.number(1.0, "float32"), (size, 4))
    names = tuple(f"x{at}" for at in range(1 + len(places)))
    node = Node(name="k", op="k", native_op="aten.index.Tensor", inputs=names, outputs=("y",))
    given = (ones, *(each(terms) for each in places))
    call = Call(node=node, inputs=given, terms=terms, implied=ImpliedNumbers(own=(), other=()))
    (found,) = TORCH["aten.index.Tensor"](call)
    return found


def test_elements_of_one_number_are_that_number_where_every_size_has_them():
    def numbers(*listed):
        return lambda t: t.constant(np.array(listed), "int64")

    rows = lambda t: t.reshape(t.counted(N), (N, 1))  # noqa: E731
    assert same(indexed(rows, numbers(0, 3)).shape, (N, 2))
    for places in ((numbers(6), numbers(0)), (rows, numbers(4)), (rows, numbers(-1)), (rows,)):
        with pytest.raises(NoMeaningError):
            indexed(*places)
