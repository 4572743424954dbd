"""The catalog of messages: each key is used, each use has the facts that its template names."""

import ast
import string

import pytest

from isomorph import registry
from isomorph.core.divergence import Verdict
from isomorph.core.messages import CATALOG, message
from isomorph.core.messages.causes import CAUSES
from isomorph.core.messages.findings import FINDINGS
from isomorph.core.messages.verdicts import VERDICTS
from isomorph.diagnose.explain import codes

SENTENCES = frozenset({"summary", "reason"})
"""Fields whose sentences the catalog holds."""
PRODUCERS = frozenset({"Finding", "Diagnosis", "Claim", "Divergence"})
OF_SEVERAL_CODES = frozenset({"OUTPUT", "RUN"})
"""Beginnings of keys that findings of more than one code use."""
OF_DIFFERENCES = frozenset({"CAUSE", "difference"})


def _fields(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _uses(tree):
    """Each call of ``message`` with its key, or None where it is chosen by an expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "message":
            given = {each.arg for each in node.keywords}
            yield node.lineno, _keys(node.args[0]), given


def _keys(node):
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.IfExp):
        return _keys(node.body) | _keys(node.orelse)
    return set()


def _modules(root):
    for path in sorted((root / "src" / "isomorph").rglob("*.py")):
        yield path.relative_to(root), ast.parse(path.read_text(encoding="utf-8"))


def test_every_use_has_a_key_and_the_facts_of_its_template(root):
    wrong = []
    for path, tree in _modules(root):
        for line, keys, given in _uses(tree):
            for key in keys:
                if key not in CATALOG:
                    wrong.append(f"{path}:{line}: no message {key}")
                elif not _fields(CATALOG[key]) <= given:
                    lacking = _fields(CATALOG[key]) - given
                    wrong.append(f"{path}:{line}: {key} lacks {', '.join(sorted(lacking))}")
    assert not wrong, "\n".join(wrong)


def test_every_message_is_used(root):
    words = {
        node.value
        for path, tree in _modules(root)
        if "messages" not in path.parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    phrases = ast.parse((root / "src/isomorph/core/messages/phrases.py").read_text("utf-8"))
    words |= {key for _, keys, _ in _uses(phrases) for key in keys}
    chosen = {"NOT_FINITE.first", "NOT_FINITE_AS_MEANT.first", "attribute.same_inputs_weights",
              "attribute.same_inputs"}  # fmt: skip
    assert set(CATALOG) - words - chosen == set()


def test_a_key_begins_with_a_verdict_a_code_or_a_cause():
    verdicts = {each.name for each in Verdict} | {"VERDICT"}
    assert {key.partition(".")[0] for key in VERDICTS} <= verdicts
    known = {*codes(), *OF_SEVERAL_CODES}
    assert {key.partition(".")[0] for key in FINDINGS} - known == set()
    causes = {*registry.names("causes"), *OF_DIFFERENCES}
    assert {key.partition(".")[0] for key in CAUSES} <= causes


def _typed(tree):
    """Sentences that a module writes itself into a finding, a diagnosis or a verdict."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", None) in PRODUCERS):
            continue
        for each in node.keywords:
            literal = isinstance(each.value, (ast.JoinedStr, ast.Constant))
            if each.arg in SENTENCES and literal:
                yield each.value.lineno


def test_no_module_writes_the_sentence_of_a_finding_itself(root):
    found = [f"{path}:{line}" for path, tree in _modules(root) for line in _typed(tree)]
    assert not found, "\n".join(found)


def test_the_gate_sees_a_sentence_that_is_written_in_place():
    assert list(_typed(ast.parse("Finding(code=c, summary=f'node {n} is wrong')")))
    assert not list(_typed(ast.parse("Finding(code=c, summary=message('LATENT.probe', a=b))")))


def test_a_fact_that_is_missing_is_an_error():
    with pytest.raises(KeyError):
        message("attribute.value", name="epsilon")


@pytest.mark.parametrize("key", sorted(CATALOG))
def test_a_sentence_is_one_line_without_a_final_period(key):
    text = CATALOG[key]
    assert "\n" not in text
    assert "  " not in text
    assert not text.endswith(".")
