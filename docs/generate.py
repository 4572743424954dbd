"""Writes the files that follow from the source.

docs/causes/*.md, docs/codes.md, docs/agents.md, docs/api.md, the JSON Schemas of the report, the
repair, the diffs, isomorph.toml and sweep.toml, web/src/report.ts and web/diff/document.ts.

`python docs/generate.py` writes them; a test compares the files with what this would write.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import isomorph
from isomorph import registry
from isomorph.cli.app import command
from isomorph.cli.parameters import Option, parameters_of
from isomorph.core.model_diff import SCHEMA as DIFF_SCHEMA
from isomorph.core.model_diff import ModelDiff
from isomorph.core.repair import SCHEMA as REPAIR_SCHEMA
from isomorph.core.report import SCHEMA, Report
from isomorph.core.report_diff import REPORT_DIFF_SCHEMA, ReportDiff
from isomorph.diagnose.explain import codes, explain
from isomorph.reporters._schema import field_docs, json_schema
from isomorph.reporters._typescript import typescript
from isomorph.reporters.agents_guide import agents_guide
from isomorph.reporters.repair_document import RepairDocument
from isomorph.store.settings_schemas import project_schema, sweep_schema
from isomorph.testing import assert_equivalent

HERE = Path(__file__).resolve().parent
REPORTERS = HERE.parent / "src" / "isomorph" / "reporters"
STORE = HERE.parent / "src" / "isomorph" / "store"


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page with its text."""
    names = registry.names("causes")
    yield HERE / "causes" / "README.md", _index(names)
    for name in names:
        yield HERE / "causes" / f"{name}.md", _cause(name)
    yield HERE / "codes.md", _codes()
    yield HERE / "api.md", _api()
    yield HERE / "agents.md", agents_guide()
    yield REPORTERS / "report.schema.json", _schema(Report, SCHEMA)
    yield REPORTERS / "repair.schema.json", _schema(RepairDocument, REPAIR_SCHEMA)
    meanings = _option_meanings()
    for name, described in (("isomorph", project_schema), ("sweep", sweep_schema)):
        text = json.dumps(described(meanings), indent=2) + "\n"
        yield STORE / f"{name}.toml.schema.json", text
    yield REPORTERS / "diff.schema.json", _schema(ModelDiff, DIFF_SCHEMA)
    yield REPORTERS / "report-diff.schema.json", _schema(ReportDiff, REPORT_DIFF_SCHEMA)
    yield HERE.parent / "web" / "src" / "report.ts", typescript(Report, RepairDocument)
    types = typescript(ModelDiff, ReportDiff).replace("the report and of the repair", "the diffs")
    yield HERE.parent / "web" / "diff" / "document.ts", types


def _option_meanings() -> dict[str, str]:
    """What each option means: as in Python, else the help of ``check`` or of ``convert``."""
    helps = {
        parameter.declared.sets or parameter.name: parameter.declared.help
        for verb in ("convert", "check")
        for parameter in parameters_of(command(verb))
        if isinstance(parameter.declared, Option)
    }
    options = isomorph.CheckOptions, isomorph.RuntimeOptions, isomorph.Limits
    fields = {name: text for each in options for name, text in _field_texts(each).items()}
    others = {
        "reference": "The model to trust.",
        "candidate": "The model to check; without it, the reference alone is checked.",
        "runtime": fields["name"],
        "environments": "Check the pair once in each of these.",
    }
    return {name: text.replace("``", "`") for name, text in {**helps, **fields, **others}.items()}


def _schema(document: type, name: str) -> str:
    """The JSON Schema of a document whose ``schema`` is ``isomorph.WORD/NUMBER``."""
    word, _, number = name.removeprefix("isomorph.").partition("/")
    schema = json_schema(
        document, title=f"isomorph {word}", identity=f"urn:isomorph:{word}:{number}"
    )
    return json.dumps(schema, indent=2) + "\n"


def _index(names: tuple[str, ...]) -> str:
    rows = [f"| [{name}]({name}.md) | {explain(name).what} |" for name in names]
    head = "# Causes\n\nWhy a converted model differs. `isomorph explain CAUSE` prints the same.\n"
    return "\n".join([head, "| cause | what it is |", "| --- | --- |", *rows, ""])


def _cause(name: str) -> str:
    page = explain(name)
    lines = [f"# {name}", "", page.what, "", "## How it is known", "", page.recognized, ""]
    lines += ["## What to do", "", page.do, ""]
    if page.issues:
        lines += ["## Known public cases", "", *(f"- {issue}" for issue in page.issues), ""]
    return "\n".join(lines)


def _codes() -> str:
    rows = [
        f"| `{code}` | {each['kind']} | {each.get('exit') or ''} | {each['what']} | {each['do']} |"
        for code, each in sorted(codes().items())
    ]
    head = "# Codes\n\nEvery code that a finding or an error carries. `isomorph explain CODE`.\n"
    columns = ["| code | of | exit | what it is | what to do |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([head, *columns, *rows, ""])


def _api() -> str:
    lines = ["# Python", "", "Everything below is imported from `isomorph`.", ""]
    for name in sorted(isomorph.__all__):
        if name.startswith("_"):
            continue
        value = getattr(isomorph, name)
        lines += _function(name, value) if inspect.isfunction(value) else _noun(name, value)
    lines += ["# Tests", "", "`from isomorph.testing import assert_equivalent`", ""]
    lines += _function("assert_equivalent", assert_equivalent)
    return "\n".join(lines)


def _function(name: str, value: object) -> list[str]:
    signature = inspect.signature(value)  # type: ignore[arg-type]
    words = [f"    {each}," for key, each in signature.parameters.items() if key != "self"]
    returns = f" -> {signature.return_annotation}" if signature.return_annotation else ""
    shown = ["```python", f"{name}(", *words, f"){returns}", "```"]
    return [f"## {name}", "", *shown, "", _docstring(value), ""]


def _docstring(value: object) -> str:
    """The docstring, with its examples as blocks of code."""
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    return "\n\n".join(
        f"```python\n{each}\n```" if each.startswith(">>>") else each for each in paragraphs
    )


def _noun(name: str, value: type) -> list[str]:
    lines = [f"## {name}", "", inspect.getdoc(value) or "", ""]
    if dataclasses.is_dataclass(value):
        described = _field_texts(value)
        lines += ["| field | type |", "| --- | --- |"]
        if described:
            lines[-2:] = ["| field | type | meaning |", "| --- | --- | --- |"]
        for field in dataclasses.fields(value):
            kind = str(field.type).replace("|", "\\|")
            meaning = f" {described.get(field.name, '')} |" if described else ""
            lines.append(f"| `{field.name}` | `{kind}` |{meaning}")
        lines.append("")
    for member, method in inspect.getmembers(value, inspect.isfunction):
        if dataclasses.is_dataclass(value) and not member.startswith("_"):
            lines += ["#" + line if line.startswith("## ") else line
                      for line in _function(f"{name}.{member}", method)]  # fmt: skip
    return lines


def _field_texts(value: type) -> dict[str, str]:
    """The docstrings below the fields of a dataclass and of those that it extends."""
    return {name: text for each in value.__mro__[:-1] for name, text in field_docs(each).items()}


if __name__ == "__main__":
    for path, text in pages():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(HERE.parent))
