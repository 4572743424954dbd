"""Decisions read typed facts: no ability is looked up by a string."""

import ast

from isomorph import registry
from isomorph.core import protocols

OPTIONAL = frozenset().union(
    *(protocols.members(each) for several in registry.ABILITIES.values() for each in several)
)


def test_no_ability_is_asked_for_by_its_name_alone(root):
    """``isinstance`` with a protocol, which mypy follows, instead of ``getattr`` with a string."""
    found = []
    for path in sorted((root / "src" / "isomorph").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            asked = call.func.id in {"getattr", "hasattr"} and len(call.args) > 1
            word = call.args[1].value if asked and isinstance(call.args[1], ast.Constant) else None
            if word in OPTIONAL:
                found.append(f"{path.name}:{call.lineno}: {word}")
    assert not found
