"""Every code that a user may meet can be explained."""

import ast

from isomorph.diagnose.explain import codes

ERRORS = {"IsomorphError", "UsageError", "UnreadableModelError", "RefusedError",
          "RuntimeFailedError"}  # fmt: skip


def _texts(node):
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]


def _codes(tree):
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in ERRORS | {"_finding"} and node.args:
            yield from _texts(node.args[0])
        if name in {"error_of", "_WrongWordsError"} and node.args:
            key = node.args[-1 if name == "error_of" else 0]
            yield from (each.partition(".")[0] for each in _texts(key))
        if name == "Finding":
            yield from (t for k in node.keywords if k.arg == "code" for t in _texts(k.value))


def test_every_code_in_the_source_is_explained(tracked):
    found = {
        (code, path.name)
        for path in tracked
        if path.suffix == ".py" and "src" in path.parts
        for code in _codes(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(code, str) and code.isupper()
    }
    assert len(found) > 80, "the gate saw nothing"
    unknown = {(code, name) for code, name in found if code not in codes()}
    assert not unknown, "add them to diagnose/codes.json"
