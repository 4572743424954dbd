"""An activation is known by what it computes, where one tensor goes in and no number is lost."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.diagnose.activation_forms import _FORMS, Form, forms, related

X = np.linspace(-7.5, 7.5, 301)


def context(cand, ref, x=X, inputs=("x",)):
    node = Node(name="n", op="Gelu", native_op="Gelu", inputs=inputs, outputs=("y",))
    specs = tuple(TensorSpec(name=name, dtype="float32", shape=None) for name in inputs)
    graph = Graph(name="g", inputs=specs, outputs=(), nodes=(node,), tensors={}, constants={})
    right = ref(x) if callable(ref) else ref
    return SimpleNamespace(
        candidate=graph,
        nodes=(node,),
        wrong=cand(x) if callable(cand) else cand,
        right=right,
        value=lambda _, name: x,
        equals=lambda value: bool(np.allclose(value, right, rtol=1e-7, atol=1e-9)),
    )


@pytest.mark.parametrize("ref", Form)
def test_every_form_is_distinguished_from_every_other(ref):
    for cand in set(Form) - {ref}:
        assert forms(context(_FORMS[cand], _FORMS[ref])) == (cand, ref)


@pytest.mark.parametrize(
    ("form", "below", "above"),
    [
        (Form.GELU_ERF, -0.15865525, 1.95449974),
        (Form.GELU_TANH, -0.15880801, 1.95459769),
        (Form.GELU_SIGMOID, -0.15420423, 1.93565862),
        (Form.SILU, -0.26894142, 1.76159416),
        (Form.HARD_SWISH, -1 / 3, 5 / 3),
        (Form.HARD_SIGMOID_SIXTH, 1 / 3, 5 / 6),
        (Form.HARD_SIGMOID_FIFTH, 0.3, 0.9),
        (Form.SIGMOID, 0.26894142, 0.88079708),
        (Form.TANH, -0.76159416, 0.96402758),
        (Form.RELU, 0.0, 2.0),
        (Form.RELU6, 0.0, 2.0),
        (Form.RELU1, 0.0, 1.0),
        (Form.ELU, -0.63212056, 2.0),
        (Form.SELU, -1.11133074, 2.10140197),
        (Form.SOFTPLUS, 0.31326169, 2.12692801),
        (Form.SOFTSIGN, -0.5, 2 / 3),
        (Form.MISH, -0.30340146, 1.94395896),
        (Form.IDENTITY, -1.0, 2.0),
    ],
)
def test_each_form_has_its_known_values_at_minus_one_and_at_two(form, below, above):
    assert _FORMS[form](np.array([-1.0, 2.0])) == pytest.approx([below, above], abs=2e-8)


@pytest.mark.parametrize("form", [Form.GELU_TANH, Form.MISH, Form.SELU])
def test_a_form_in_float32_is_the_same_form(form):
    def narrow(x):
        return _FORMS[form](x).astype(np.float32)

    assert forms(context(narrow, _FORMS[Form.RELU]))[0] is form


def test_what_is_near_a_form_and_not_it_has_no_name():
    assert forms(context(lambda x: _FORMS[Form.SILU](x) * 1.001, _FORMS[Form.RELU])) == (
        None,
        Form.RELU,
    )


def test_a_reference_of_no_known_form_names_neither():
    assert forms(context(_FORMS[Form.RELU], lambda x: np.sin(3 * x))) == (None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": ("x", "z")},
        {"wrong": np.zeros(3)},
        {"wrong": np.full(X.shape, np.inf)},
        {"right": np.full(X.shape, np.nan)},
        {"value": lambda *_: None},
        {"value": lambda *_: X.astype(int)},
        {"value": lambda *_: X[:3]},
    ],
    ids=["two inputs", "shape", "overflow", "nan", "unknown", "integers", "other shape"],
)
def test_without_one_tensor_of_numbers_neither_is_named(changes):
    made = context(
        _FORMS[Form.GELU_ERF], _FORMS[Form.GELU_TANH], inputs=changes.pop("inputs", ("x",))
    )
    for name, value in changes.items():
        setattr(made, name, value)
    assert forms(made) == (None, None)


def test_forms_of_one_function_are_related_and_no_others():
    assert related(Form.GELU_ERF, Form.GELU_SIGMOID)
    assert related(Form.RELU6, Form.RELU)
    assert not related(Form.RELU, Form.ELU)
    assert not related(Form.HARD_SIGMOID_FIFTH, Form.SIGMOID)
