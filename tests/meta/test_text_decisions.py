"""No decision reads text that is meant for people: only reporters look into it."""

import ast

import pytest

TEXTS = frozenset(
    {
        "advice", "derivation", "description", "fix", "message", "notes", "origin", "predicts",
        "question", "reason", "reasons", "sentence", "summary", "transform", "what", "why",
    }
)  # fmt: skip
"""Fields of findings, reports, errors and samples that hold sentences."""
VARIABLES = frozenset({"note", "notes", "reason", "sentence", "summary"})
"""Names that a local variable has only where it holds such a sentence."""
SEARCHES = frozenset(
    {"startswith", "endswith", "find", "index", "count", "split", "partition", "rpartition"}
)
ALLOWED = {
    "core/report.py": "Finding.fact is the one way to the evidence",
    "core/errors.py": "a colon at the end of a message is layout",
}
PRESENTING = ("reporters", "cli", "server", "web")
"""Packages that lay text out; everything else decides."""


def _text(node):
    """The name of the text that an expression reads, or None."""
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr in TEXTS else None
    return node.id if isinstance(node, ast.Name) and node.id in VARIABLES else None


def _evidence(node):
    """Whether it is the evidence of a finding; that of an aligned pair is a closed set of words."""
    if not isinstance(node, ast.Attribute) or node.attr != "evidence":
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id == "pair")


def _literal(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""
    )


def violations(source):
    """The lines of a module that search text or compare it with words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in SEARCHES and _text(node.func.value):
                yield node.lineno, f"{_text(node.func.value)}.{node.func.attr}"
            elif node.func.attr == "get" and _evidence(node.func.value):
                yield node.lineno, "evidence.get"
        elif isinstance(node, ast.Subscript) and _evidence(node.value):
            yield node.lineno, "evidence[...]"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for place, operator in enumerate(node.ops):
                left, right = sides[place], sides[place + 1]
                if isinstance(operator, (ast.In, ast.NotIn)) and (_text(right) or _evidence(right)):
                    yield node.lineno, f"in {_text(right) or 'evidence'}"
                elif isinstance(operator, (ast.Eq, ast.NotEq)):
                    for one, other in ((left, right), (right, left)):
                        if _text(one) and _literal(other):
                            yield node.lineno, f"{_text(one)} == {ast.unparse(other)}"


def _deciding(root):
    for path in sorted((root / "src" / "isomorph").rglob("*.py")):
        parts = path.relative_to(root / "src" / "isomorph").parts
        if parts[0] not in PRESENTING and "/".join(parts) not in ALLOWED:
            yield path


def test_no_decision_reads_text_for_people(root):
    found = [
        f"{path.relative_to(root)}:{line}: {what}"
        for path in _deciding(root)
        for line, what in violations(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "if finding.summary.startswith('x'): pass",
        "if 'x' in report.reason: pass",
        "if 'bound' in finding.evidence: pass",
        "if finding.evidence.get('bound'): pass",
        "bound = finding.evidence['bound']",
        "if error.what == 'there is none': pass",
        "if 'x' == error.why: pass",
        "words = report.reason.split()",
    ],
)
def test_the_gate_sees_decisions_over_text(source):
    assert list(violations(source))


@pytest.mark.parametrize(
    "source",
    [
        "if finding.code == 'GUILTY_NODE': pass",
        "if path.name.startswith('x'): pass",
        "if report.reason == other.reason: pass",
        "if not report.reason: pass",
        "if 'value' in pair.evidence: pass",
        "if finding.fact(Fact.MEMBER) is None: pass",
        "text = f'{report.reason}: {finding.summary}'",
    ],
)
def test_the_gate_leaves_codes_names_and_plain_use_alone(source):
    assert not list(violations(source))
