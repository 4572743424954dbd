import re
import tomllib
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest

from isomorph.core.report import SCHEMA, Report
from isomorph.reporters.json import schema
from isomorph.version import VERSION

LONGEST_MODULE = 400
# Folders of one machine: what is true only there does not belong into a file.
MACHINE = re.compile(r"(?<![\w.~-])/(?:root|work|home|Users)/[\w.-]+")
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}


def _texts(tracked):
    for path in tracked:
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def test_no_file_knows_a_machine(tracked, root):
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for path, text in _texts(tracked)
        for match in [MACHINE.search(text)]
        if match
    ]
    assert not found


def test_no_file_names_a_package_index(tracked):
    word = "index" + "-url"
    assert not [path for path, text in _texts(tracked) if word in text]


def test_the_machine_pattern_can_match():
    assert MACHINE.search("see " + "/" + "root/x")
    assert not MACHINE.search("https://example.org/work/x")


def test_modules_stay_one_idea_long(tracked, root):
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked
        if path.suffix == ".py" and "src" in path.parts
    }
    assert lengths, "the gate saw nothing"
    assert not {name: length for name, length in lengths.items() if length > LONGEST_MODULE}


def test_no_module_is_named_for_nothing(tracked):
    modules = [path for path in tracked if path.suffix == ".py" and "src" in path.parts]
    assert modules, "the gate saw nothing"
    assert not [path for path in modules if EMPTY_NAMES & set(path.stem.split("_"))]


def test_json_of_others_is_read_with_its_depth_bounded(tracked):
    """``json.loads`` counts on a recursion limit that converters raise; see core/foreign_json."""
    ours = {
        "untrusted_json", "target_support", "known_issues", "explain", "json", "report_store",
    }  # these read what isomorph itself wrote or ships  # fmt: skip
    readers = [
        path
        for path, text in _texts(tracked)
        if "src" in path.parts and path.suffix == ".py" and re.search(r"\bjson\.loads?\(", text)
    ]
    assert {path.stem for path in readers} == ours


def test_nothing_is_left_undone_in_the_source(tracked):
    unfinished = re.compile(r"\b(?:TODO|FIXME|XXX)\b|raise NotImplementedError")
    found = [
        path
        for path, text in _texts(tracked)
        # The built page has libraries in it, which have notes of their own.
        if "src" in path.parts and path.name != "page.html" and unfinished.search(text)
    ]
    assert not found


def test_the_readme_names_only_targets_that_exist(root):
    makefile = (root / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", (root / "README.md").read_text()))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_the_commands_of_the_readme_exist(root):
    from isomorph.cli.app import COMMANDS

    blocks = re.findall(r"^```.*?^```", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"^\$ isomorph ([a-z]+)", "\n".join(blocks), re.MULTILINE))
    assert named, "the README shows no command"
    assert named <= set(COMMANDS)


def test_the_changelog_knows_the_version(root):
    headings = re.findall(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == VERSION


def test_every_pin_is_exact_and_stands_once(root):
    lines = (root / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[\w.]+", pin) for pin in pins)
    names = [re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins]
    assert len(names) == len(set(names))


def _dataclasses(kind, seen):
    for hint in get_type_hints(kind).values():
        for part in _parts(hint):
            if is_dataclass(part) and part not in seen:
                seen.add(part)
                _dataclasses(part, seen)
    return seen


def _parts(hint):
    if get_origin(hint) is None:
        return [hint]
    return [part for inner in get_args(hint) for part in _parts(inner)]


NOUNS = sorted(_dataclasses(Report, {Report}), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_the_schema_has_exactly_the_fields_of_the_report(noun):
    whole = schema()
    described = whole if noun is Report else whole["$defs"][noun.__name__]
    names = {field.name for field in fields(noun)}
    assert set(described["properties"]) == names
    assert set(described["required"]) == names
    assert described["additionalProperties"] is False


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_the_schema_allows_null_exactly_where_a_field_may_be_none(noun):
    whole = schema()
    described = whole if noun is Report else whole["$defs"][noun.__name__]
    for name, hint in get_type_hints(noun).items():
        optional = get_origin(hint) in (Union, UnionType) and type(None) in get_args(hint)
        assert _allows_null(described["properties"][name]) == optional, name


def _allows_null(described):
    """The field itself, not what it may hold."""
    either = [described, *described.get("anyOf", ())]
    return any(
        "null" in (kind if isinstance(kind := one.get("type"), list) else [kind]) for one in either
    )


def test_the_schema_has_no_noun_of_its_own_but_real():
    assert set(schema()["$defs"]) - {noun.__name__ for noun in NOUNS} == {"Real"}
    assert len(NOUNS) > 10
    assert schema()["properties"]["schema"]["const"] == SCHEMA


def test_every_extra_is_used_and_every_extra_that_is_named_exists(root):
    """An extra that nothing imports is a promise that is not kept."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((root / "src").rglob("*.py"))
    )
    named = set(re.findall(r'extra ?= ?"(\w+)"', source))
    assert "torch" in named & set(extras)
    assert not named - set(extras)
    unused = []
    for name in set(extras) - {"all", "dev"}:
        packages = [re.split(r"[><=\[]", line)[0].replace("-", "_") for line in extras[name]]
        if not any(re.search(rf'"{each}["./]|import {each}', source) for each in packages):
            unused.append(name)
    assert not unused
