"""Operators of one framework are named only where that framework lives."""

import ast
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import isomorph
from isomorph import registry
from isomorph.core.model import Graph, Node
from isomorph.core.operator_tables import NO_TABLES
from isomorph.fixes.attribute import _left_out

ROOT = Path(isomorph.__file__).parent
KNOW_FRAMEWORKS = {"frameworks", "converters", "kernels"}
VOCABULARY = ROOT / "core" / "ops.py"
"""The neutral vocabulary has the activations that a node may have built in."""
EXAMPLES = {"positive_examples", "negative_examples"}


def strings(tree):
    """Every string of a module that is neither a docstring nor in the examples of a rule."""
    skipped = set()
    for each in ast.walk(tree):
        names = {getattr(target, "id", "") for target in getattr(each, "targets", ())}
        text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if text or names & EXAMPLES:
            skipped.update(id(inner) for inner in ast.walk(each))
    return [
        each.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and id(each) not in skipped
    ]


def native_names():
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    # Names of one word (LSTM) are those of ONNX too.
    return {name for name in vars(schema.BuiltinOperator) if name.isupper() and "_" in name}


def is_native(text, tflite):
    return text in tflite or text.startswith(("aten.", "aten::", "prims."))


def modules():
    found = [path for path in ROOT.rglob("*.py") if path != VOCABULARY]
    return [path for path in found if path.relative_to(ROOT).parts[0] not in KNOW_FRAMEWORKS]


def test_no_module_outside_frameworks_names_their_operators():
    tflite = native_names()
    named = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in modules()
        for text in strings(ast.parse(path.read_text(encoding="utf-8")))
        if is_native(text, tflite)
    }
    assert not named


def guesses(tree):
    """The words that a module looks for within the native name of an operator."""
    return [
        each.left.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Compare)
        and isinstance(each.ops[0], (ast.In, ast.NotIn))
        and isinstance(each.left, ast.Constant)
        and str(each.left.value).isalpha()
        and getattr(each.comparators[0], "attr", None) == "native_op"
    ]


def test_no_module_outside_frameworks_looks_for_a_word_in_a_native_name():
    found = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in modules()
        for word in guesses(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found
    assert guesses(ast.parse('if "rsub" in node.native_op: pass')) == ["rsub"]


def test_the_gate_sees_a_native_name():
    tree = ast.parse('TABLE = {"CONV_2D": 1, "aten.relu.default": 2, "Relu": 3}')
    assert sum(is_native(text, native_names()) for text in strings(tree)) == 2


@pytest.mark.parametrize("name", ["onnx", "pytorch", "tensorflow", "tflite"])
def test_the_tables_are_those_of_the_framework(name):
    assert registry.operator_tables(name) is registry.framework(name).operator_tables


@pytest.mark.parametrize("name", ["not_installed", ""])
def test_a_framework_that_is_not_installed_has_empty_ones(name):
    assert registry.operator_tables(name) is NO_TABLES


@pytest.mark.parametrize(("framework", "patched"), [("onnx", True), ("tflite", False)])
def test_an_operator_in_capitals_is_that_of_its_framework(framework, patched):
    """ONNX writes LSTM as TFLite does, and may leave out a number of it; TFLite may not."""
    right = Node(name="l", op="LSTM", native_op="LSTM", inputs=("x",), outputs=("y",))
    wrong = replace(right, attributes={"clip": 0.4})
    graph = Graph(name="g", inputs=(), outputs=(), nodes=(wrong,), tensors={}, constants={},
                  framework=framework)  # fmt: skip
    context = SimpleNamespace(candidate=graph, counterparts=(right,))
    assert any(_left_out(context, wrong)) is patched
