"""The JSON Schema and the TypeScript types follow from the fields of a dataclass."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from isomorph.core.constraints import Bounds, Count, Keys, Probability
from isomorph.reporters._schema import json_schema
from isomorph.reporters._typescript import typescript


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    """Something inside."""

    size: Count


@dataclass(frozen=True)
class Outer:
    """Something around it."""

    color: Color
    """As painted."""
    inner: Inner | None
    chance: Probability
    error: float
    pair: tuple[float, float]
    names: Annotated[tuple[str, ...], Bounds(least=1)]
    kind: Literal["a", "b"]
    extra: Mapping[str, Any]
    edits: tuple[Annotated[Mapping[str, Any], Keys("edit")], ...]
    schema: str = "outer/1"


VALID = {
    "color": "red", "inner": {"size": 0}, "chance": 0.5, "error": "nan", "pair": [1, "inf"],
    "names": ["x"], "kind": "a", "extra": {"any": [1]},
    "edits": [{"edit": "SetOp", "op": 1}], "schema": "outer/1",
}  # fmt: skip


@pytest.fixture(scope="module")
def validator():
    schema = json_schema(Outer, title="outer", identity="urn:outer")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("change", [{}, {"inner": None}, {"color": "blue", "error": 1.5}])
def test_what_the_dataclass_holds_is_valid(validator, change):
    validator.validate(VALID | change)


@pytest.mark.parametrize(
    "change",
    [
        {"color": "green"}, {"inner": {"size": -1}}, {"inner": {}}, {"chance": 1.5},
        {"chance": "nan"}, {"error": None}, {"error": "large"}, {"pair": [1.0]}, {"names": []},
        {"kind": "c"}, {"extra": []}, {"schema": "outer/2"}, {"unknown": 1},
        {"edits": [{"op": 1}]}, {"edits": [{"edit": 1}]},
    ],
)  # fmt: skip
def test_anything_else_is_not(validator, change):
    assert not validator.is_valid(VALID | change)


def test_every_field_is_required(validator):
    for name in VALID:
        assert not validator.is_valid({k: v for k, v in VALID.items() if k != name}), name


def test_typescript_has_one_type_for_each_dataclass_and_enum():
    text = typescript(Outer)
    assert 'export type Color = "red" | "blue";' in text
    assert "export interface Inner {\n  size: number;\n}" in text
    assert "  /** As painted. */\n  color: Color;\n  inner: Inner | null;\n" in text
    assert "  chance: number;\n  error: Real;\n  pair: [Real, Real];\n  names: string[];\n" in text
    assert '  kind: "a" | "b";\n  extra: Record<string, unknown>;\n' in text
    assert "  edits: ({ edit: string } & Record<string, unknown>)[];\n" in text


def test_documents_share_the_types_that_both_contain():
    @dataclass(frozen=True)
    class Another:
        """Something else."""

        inner: Inner

    text = typescript(Outer, Another)
    assert text.count("export interface Inner {") == 1
    assert "export interface Another {" in text


def test_a_type_that_no_document_has_is_refused():
    @dataclass(frozen=True)
    class Odd:
        """Odd."""

        value: tuple[int, str]

    with pytest.raises(TypeError, match="no form"):
        json_schema(Odd, title="odd", identity="urn:odd")
