"""Operators of one framework are named only where that framework lives."""

import ast
from pathlib import Path

import pytest

import isomorph
from isomorph import registry
from isomorph.core.operator_tables import NO_TABLES

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


def test_the_gate_sees_a_native_name():
    tree = ast.parse('TABLE = {"CONV_2D": 1, "aten.relu.default": 2, "Relu": 3}')
    assert sum(is_native(text, native_names()) for text in strings(tree)) == 2


@pytest.mark.parametrize(
    ("native", "own_options"),
    [("CONV_2D", True), ("aten.rsqrt.default", False), ("Relu", False), ("ai.onnx::Relu", False)],
)
def test_the_tables_of_an_operator_are_those_of_its_framework(native, own_options):
    assert registry.operator_tables(native).own_options is own_options


def test_a_framework_without_tables_has_empty_ones():
    assert registry.tables_of("tensorflow") is NO_TABLES
    assert registry.operator_tables("Conv2D") is NO_TABLES
