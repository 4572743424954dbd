"""Sizes in an archive are arithmetic and no code."""

import pytest

from isomorph.frameworks.pytorch.archive import _is_arithmetic


@pytest.mark.parametrize(
    "text",
    ["s0 + 2*s1", "Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
     "FloorDiv(s0, 2)", "Max(1, s0 - 3)", "s0 < 12"],
)  # fmt: skip
def test_sizes_are_arithmetic(text):
    assert _is_arithmetic(text)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true')", "open('x')", "s0.__class__", "[x for x in (1,)]",
     "lambda: 0", "Symbol('a b; c')", "lambdify(s0, s0)", "s0 +"],
)  # fmt: skip
def test_everything_else_is_not(text):
    assert not _is_arithmetic(text)
