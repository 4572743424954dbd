"""The catalog of messages: each key is used, each use has the facts that its template names."""

import ast
import builtins
import re
import string
from collections.abc import Mapping
from functools import cache
from itertools import chain

import pytest

from isomorph import registry
from isomorph.core.divergence import Verdict
from isomorph.core.messages import CATALOG, message
from isomorph.core.messages.answers import ANSWERS
from isomorph.core.messages.causes import CAUSES
from isomorph.core.messages.error_locations import ERROR_LOCATIONS
from isomorph.core.messages.errors import ERRORS
from isomorph.core.messages.experiments import EXPERIMENTS, PARTS
from isomorph.core.messages.findings import FINDINGS
from isomorph.core.messages.fixes import FIXES
from isomorph.core.messages.inputs import INPUTS
from isomorph.core.messages.outcomes import OUTCOMES
from isomorph.core.messages.patches import PATCHES
from isomorph.core.messages.readmes import READMES
from isomorph.core.messages.reports import REPORTS
from isomorph.core.messages.rules import RULES
from isomorph.core.messages.skipped import SKIPPED
from isomorph.core.messages.verdicts import VERDICTS
from isomorph.diagnose.explain import codes

SENTENCES: Mapping[str, frozenset[str]] = {
    "Claim": frozenset({"reason"}),
    "Diagnosis": frozenset({"summary", "fix"}),
    "Divergence": frozenset({"reason"}),
    "Experiment": frozenset({"question", "change", "predicts", "seen"}),
    "Finding": frozenset({"summary", "fix"}),
    "Patch": frozenset({"summary"}),
    "Reading": frozenset({"words", "fix"}),
    "Remark": frozenset({"message", "advice"}),
    "Skipped": frozenset({"what", "why"}),
}
"""The fields of each class whose sentences the catalog holds."""
KEYED = {"message": 0, "experiment": 0, "not_done": 0, "error_of": 1, "_WrongWordsError": 0}
"""Functions that take a key, and the place of the key among their arguments."""
OF_SEVERAL_CODES = frozenset({"OUTPUT", "RUN"})
"""Beginnings of keys that findings of more than one code use."""
OF_DIFFERENCES = frozenset({"CAUSE", "crash", "difference"})
OF_FAULTS = frozenset({"constant", "fault"})
"""Beginnings of the keys of experiments that belong to no single cause."""
COMMANDS = frozenset({"REPAIR", "CONVERT", "STRESS", "RANGES", "EXTRACT", "LINT"})
REPORTING = frozenset(
    {"LEAD", "REPORT", "FIGURE", "FINDING", "DECODING", "QUANTIZED", "GRID", "PROFILE",
     "BASELINE", "INSPECT", "EXPLAIN"}
)  # fmt: skip
ANSWERING = frozenset(
    {"PROVE", "BISECT", "SWEEP", "DOCTOR", "DIFF", "DEMO", "ACCEPT", "HELP", "TRACE"}
)
WITHOUT_SENTENCES = ("causes", "fixes")
"""Packages whose every text ends in a finding, an experiment or a patch."""
OF_PEOPLE = (
    "reporters",
    "api/doctor.py",
    "bisecting/conversion_reproducer.py",
    "bisecting/reproducer.py",
    "checking/baseline.py",
    "checking/io_dequantize.py",
    "checking/prove.py",
    "checking/prove_sizes.py",
    "cli/accept.py",
    "cli/demo.py",
    "cli/output.py",
    "cli/project.py",
    "cli/provider_code.py",
    "cli/run.py",
    "cli/sweep_output.py",
    "cli/view.py",
    "decoding/check.py",
    "diffing/constant_changes.py",
    "diffing/folded_layers.py",
    "diffing/group_constants.py",
    "extraction",
    "localize/attribute_diff.py",
    "localize/error_location.py",
    "localize/input_search.py",
    "localize/size_search.py",
    "localize/unread_inputs.py",
    "localize/weight_inputs.py",
    "repair/fresh_samples.py",
    "server",
)
"""Packages and modules whose texts a user reads: answers, reports, and the origin of an input."""
OF_PROGRAMS = frozenset(
    {"_plain_script.py", "_schema.py", "_typescript.py", "extraction_script.py",
     "release_script.py", "sweep_parquet.py", "textwrap.py"}
)  # fmt: skip
"""Reporters that write programs and schemas, whose texts are code."""
COMMAND_LINES = ("pip install ", "import ", "isomorph ", "$ isomorph ")
"""Beginnings of texts that are typed, not read."""
STYLE_OR_CODE = re.compile(
    r"[a-z-]+:([^ ]| 0 )|bold |default-src|connect-src|"
    r"\"\"\"|from \w+|\w+ = |print\(|\[\^|--?\w|.*-m (venv|pip) |Fatal Python"
)
"""How styles, policies, patterns and lines of programs begin."""
CLOSED_WORDS = frozenset({" and ", " or ", "as declared", "away from zero", "to even", "to zero"})
"""Words between names, and values that are compared: ways of rounding, a precision."""


def _fields(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _uses(tree):
    """Each call that takes a key, with its keys and facts; none where a key is computed."""
    for node in ast.walk(tree):
        called = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
        if called not in KEYED:
            continue
        given = {each.arg for each in node.keywords}
        keys = _keys(node.args[KEYED[called]])
        if called == "experiment":
            keys = _parts(keys, given)
        elif called == "not_done":
            parts = ("what",) if len(node.args) > 1 else ("what", "why")
            keys = {f"SKIPPED.{key}.{part}" for key in keys for part in parts}
        elif called in {"error_of", "_WrongWordsError"}:
            given |= {"help"} if called == "_WrongWordsError" else set()
            own = {f"ERROR.{key}.{part}" for key in keys for part in ("why", "fix")}
            keys = {f"ERROR.{key}.what" for key in keys} | (own & CATALOG.keys())
        yield node.lineno, keys, given


def _keys(node):
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.IfExp):
        return _keys(node.body) | _keys(node.orelse)
    return set()


def _parts(names, given):
    """The keys of the texts of experiments that are shown."""
    shown = PARTS if "agrees" in given else PARTS[:4]
    own = {f"EXPERIMENT.{name}.{part}" for name in names for part in shown}
    return {f"EXPERIMENT.{name}.question" for name in names} | (own & CATALOG.keys())


@cache
def _modules(root):
    """Every module with its tree, read once for all gates."""
    return tuple(
        (path.relative_to(root), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted((root / "src" / "isomorph").rglob("*.py"))
    )


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
    words |= {f"EXPERIMENT.{each}.{part}" for each in words for part in PARTS}
    words |= {f"SKIPPED.{each}.{part}" for each in words for part in ("what", "why")}
    words |= {f"ERROR.{each}.{part}" for each in words for part in ("what", "why", "fix")}
    words |= {f"EXPECTED.{each}" for each in words}
    chosen = {"NOT_FINITE.first", "NOT_FINITE_AS_MEANT.first", "attribute.same_inputs_weights",
              "attribute.same_inputs"}  # fmt: skip
    assert set(CATALOG) - words - chosen == set()


def test_a_key_begins_with_a_verdict_a_code_a_cause_or_its_family():
    verdicts = {each.name for each in Verdict} | {"VERDICT"}
    assert {key.partition(".")[0] for key in VERDICTS} <= verdicts
    known = {*codes(), *OF_SEVERAL_CODES}
    assert {key.partition(".")[0] for key in FINDINGS} - known == set()
    causes = {*registry.names("causes"), *OF_DIFFERENCES}
    assert {key.partition(".")[0] for key in CAUSES} <= causes
    assert {key.split(".")[1] for key in EXPERIMENTS} <= causes | OF_FAULTS
    assert {key.partition(".")[0] for key in PATCHES} == {"PATCH", "EDIT"}
    assert {key.partition(".")[0] for key in FIXES} == {"FIX", "ADVICE"}
    assert {key.partition(".")[0] for key in SKIPPED} == {"SKIPPED"}
    assert {key.partition(".")[0] for key in OUTCOMES} == COMMANDS
    assert {key.partition(".")[0] for key in ANSWERS} == ANSWERING
    assert {key.partition(".")[0] for key in REPORTS} == REPORTING
    assert {key.partition(".")[0] for key in INPUTS} == {"INPUT"}
    assert {key.partition(".")[0] for key in ERROR_LOCATIONS} == {"WHERE"}
    assert {key.partition(".")[0] for key in READMES} == {"README"}
    rules = {registry.rule(name).code for name in registry.names("rules")}
    assert {key.partition(".")[0] for key in RULES} == rules
    refused = {key.split(".")[1] for key in ERRORS if not key.startswith("EXPECTED.")}
    assert refused <= set(codes())


def test_no_two_families_share_a_key():
    families = (
        VERDICTS,
        FINDINGS,
        CAUSES,
        EXPERIMENTS,
        PATCHES,
        FIXES,
        SKIPPED,
        OUTCOMES,
        ANSWERS,
        RULES,
        ERRORS,
        REPORTS,
        INPUTS,
        ERROR_LOCATIONS,
        READMES,
    )
    keys = list(chain.from_iterable(families))
    assert len(keys) == len(set(keys))


def _typed(tree):
    """Sentences that a module writes itself into a finding, an experiment or a patch."""
    for node in ast.walk(tree):
        called = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
        fields = SENTENCES.get(called, frozenset())
        for each in node.keywords if fields else ():
            if each.arg in fields and any(map(_words, _branches(each.value))):
                yield each.value.lineno
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "_remark":
            # Rules with several remarks make them in a method of this name.
            yield from (each.lineno for each in node.args if any(map(_words, _branches(each))))


def _branches(node):
    """An expression, or those between which it chooses."""
    if isinstance(node, ast.IfExp):
        return (*_branches(node.body), *_branches(node.orelse))
    if isinstance(node, ast.BoolOp):
        return tuple(chain.from_iterable(map(_branches, node.values)))
    return (node,)


def _words(node):
    """Whether an expression is a text with a space: neither a name nor a key."""
    if isinstance(node, ast.JoinedStr):
        text = "".join(each.value for each in node.values if isinstance(each, ast.Constant))
        option = text.startswith("--")
        return any(map(str.isalpha, text)) and " " in text and not option
    text = node.value if isinstance(node, ast.Constant) else None
    spoken = isinstance(text, str) and " " in text and any(map(str.isalpha, text))
    return spoken and text not in CLOSED_WORDS


def _command_line(node):
    """Whether an expression is the text of a command."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(each.value) for each in parts if isinstance(each, ast.Constant))
    return text.lstrip().startswith(COMMAND_LINES)


def _label(node):
    """Whether a text is markup, a style or a program, or one word beside values."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(each.value) if isinstance(each, ast.Constant) else " 0 " for each in parts)
    if STYLE_OR_CODE.match(text):
        return True
    shown = re.sub(r"<[^>]*>?|[\w-]+=\"[^\"]*\"?", " ", text)
    return len(re.findall(r"[A-Za-z][A-Za-z'./-]*", shown)) < 2


def _sentences(tree, *, command_lines=False, labels=True):
    """Texts with a space in a module, without docstrings, types and the words of errors.

    With ``command_lines``, commands are left out as well; without ``labels``, texts of one word.
    """
    silent = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr):
                silent.add(id(each.value))
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert)):
            silent |= {id(each) for each in ast.walk(node) if each is not node}
        if isinstance(node, ast.Subscript):
            silent |= {id(each) for each in ast.walk(node.slice)}
    for node in ast.walk(tree):
        text = isinstance(node, (ast.JoinedStr, ast.Constant))
        left_out = command_lines and text and _command_line(node)
        left_out = left_out or (not labels and text and _label(node))
        if text and _words(node) and id(node) not in silent and not left_out:
            yield node.lineno


def test_no_module_writes_the_sentence_of_a_finding_itself(root):
    found = [f"{path}:{line}" for path, tree in _modules(root) for line in _typed(tree)]
    assert not found, "\n".join(found)


def test_skipped_is_made_from_the_catalog_and_from_limits_alone(root):
    """A text that a variable holds would be one that the gate above does not see."""
    found = [
        str(path)
        for path, tree in _modules(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Skipped"
    ]
    assert set(found) == {"src/isomorph/core/not_done.py"}


def _refusals(tree):
    """Errors of our own whose sentence is written where they are raised."""
    for node in ast.walk(tree):
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        ours = called.endswith("Error") and not hasattr(builtins, called)
        if ours and any(map(_words, chain(*map(_branches, node.args)))):
            yield node.lineno


def test_errors_of_what_a_user_typed_stand_in_the_catalog(root):
    found = [
        f"{path}:{line}"
        for path, tree in _modules(root)
        if path.parts[2] in {"api", "cli", "server", "registry.py"}
        for line in _refusals(tree)
    ]
    assert not found, "raise them with error_of:\n" + "\n".join(found)


def test_the_gate_sees_an_error_with_words_of_its_own():
    assert list(_refusals(ast.parse("raise UsageError('BAD_OPTION', f'{a} is wrong')")))
    assert not list(_refusals(ast.parse("raise error_of(UsageError, 'BAD_OPTION.word', a=b)")))


def test_causes_and_fixes_hold_no_sentence_at_all(root):
    found = [
        f"{path}:{line}"
        for path, tree in _modules(root)
        if path.parts[2] in WITHOUT_SENTENCES
        for line in _sentences(tree)
    ]
    assert not found, "\n".join(found)


def _is_read(path):
    parts = path.relative_to("src/isomorph")
    program = parts.parts[0] == "reporters" and parts.name in OF_PROGRAMS
    return not program and any(parts.is_relative_to(each) for each in OF_PEOPLE)


def test_what_a_user_reads_holds_no_sentence_of_its_own(root):
    found = [
        f"{path}:{line}"
        for path, tree in _modules(root)
        if _is_read(path)
        for line in _sentences(tree, command_lines=True, labels=False)
    ]
    assert not found, "\n".join(found)
    present = {path.relative_to("src/isomorph") for path, _ in _modules(root)}
    assert all(any(one.is_relative_to(each) for one in present) for each in OF_PEOPLE)


def test_the_gate_of_answers_leaves_commands_alone():
    texts = ("f'pip install {name}'", "'isomorph sweep'")
    for text in texts:
        assert not list(_sentences(ast.parse(f"x = {text}"), command_lines=True)), text
    assert list(_sentences(ast.parse("x = f'{a} of {b}'"), command_lines=True))


@pytest.mark.parametrize(
    "source",
    [
        "Finding(code=c, summary=f'node {n} is wrong')",
        "Patch(summary='remove it' if c else d)",
        "Experiment(seen=text or 'it is')",
        "self._remark('it is infinite', name)",
    ],
)
def test_the_gate_sees_a_sentence_that_is_written_in_place(source):
    assert list(_typed(ast.parse(source)))


def test_the_gate_leaves_the_catalog_and_names_alone():
    assert not list(_typed(ast.parse("Finding(code=c, summary=message('LATENT.probe', a=b))")))
    assert not list(_typed(ast.parse("Patch(summary='')")))


def test_the_gate_of_a_package_sees_helpers_but_neither_docstrings_nor_errors():
    assert list(_sentences(ast.parse("def f(): return named('the values')")))
    assert list(_sentences(ast.parse("words = f'scale {a} of {b}'")))
    assert not list(_sentences(ast.parse("def f():\n '''A text.'''\n raise E('a b')")))


def test_a_fact_that_is_missing_is_an_error():
    with pytest.raises(KeyError):
        message("attribute.value", name="epsilon")


def test_a_sentence_is_one_line_without_a_final_period():
    pages = {key for key in READMES if READMES[key].endswith(".")}
    wrong = [
        key
        for key, text in CATALOG.items()
        if "\n" in text or "  " in text.lstrip() or (text.endswith(".") and key not in pages)
    ]
    assert not wrong


def test_the_gate_of_what_is_read_leaves_markup_styles_and_labels_alone():
    silent = (
        "f'seed {n}'",
        "'<td class=\"a b\">seen</td>'",
        "'bold green'",
        "'color:red;font:a b'",
    )
    for text in silent:
        assert not list(_sentences(ast.parse(f"x = {text}"), labels=False)), text
    for text in ("'<p>two words</p>'", "f'{n} more findings'"):
        assert list(_sentences(ast.parse(f"x = {text}"), labels=False)), text
