"""A framework is a folder of readable size: what several need is shared below them."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

import isomorph

FRAMEWORKS = Path(isomorph.__file__).parent / "frameworks"
MOST = 2_000
NEW = ("coreml", "executorch", "jax", "openvino")
"""Those that were written after the oracle was shared."""
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text):
    """How many lines of a module are neither blank nor a comment nor a docstring."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        holds = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if holds and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_what_is_counted():
    text = '"""What\n\nit holds."""\n\n# Why.\nROWS = """\na\nb\n"""\n\n\ndef f():\n    """It."""\n'
    assert code_lines(f"{text}    return (\n        1,\n    )  # and why\n") == 4 + 1 + 3


@pytest.mark.parametrize("name", NEW)
def test_a_new_framework_stays_small(name):
    modules = sorted((FRAMEWORKS / name).rglob("*.py"))
    counted = {path.name: code_lines(path.read_text(encoding="utf-8")) for path in modules}
    assert modules
    assert sum(counted.values()) < MOST, counted
