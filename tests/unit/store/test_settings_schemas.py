"""The schemas of isomorph.toml and sweep.toml allow what the readers read, and no key besides."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from isomorph.core.errors import UsageError
from isomorph.store.projects import read_project
from isomorph.store.settings_schemas import settings_schema_text
from isomorph.store.sweep_files import read_sweep

DOCS = Path(__file__).resolve().parents[3] / "docs"
READERS = {"isomorph.toml": read_project, "sweep.toml": read_sweep}
PAIR = '[pairs.a]\nreference = "a"\n'
MODEL = '[models.a]\nreference = "a.onnx"\ncandidate = "b.onnx"\n'


def _validator(file):
    schema = json.loads(settings_schema_text(file))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def _examples():
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, block in re.findall(r"^```toml (\S+)\n(.*?)^```$", text, re.M | re.S):
            if name in READERS:
                yield pytest.param(name, block, id=f"{page.stem}-{name}")


@pytest.mark.parametrize(("file", "text"), list(_examples()))
def test_the_examples_of_the_pages_are_valid(file, text):
    _validator(file).validate(tomllib.loads(text))


def test_both_files_have_an_example():
    assert {each.values[0] for each in _examples()} == set(READERS)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("isomorph.toml", "baselin = 'x'\n"),
        ("isomorph.toml", "[pairs.a]\ncandidate = 'a'\n"),
        ("isomorph.toml", PAIR + "seeds = 1\n"),
        ("isomorph.toml", PAIR + "seed = 'one'\n"),
        ("isomorph.toml", PAIR + "strict = 1\n"),
        ("isomorph.toml", PAIR + "budget = -1\n"),
        ("isomorph.toml", PAIR + "budget = { y = 'small' }\n"),
        ("isomorph.toml", PAIR + "layouts = { x = [0, 'c'] }\n"),
        ("isomorph.toml", PAIR + "runtime = ['onnxruntime']\n"),
        ("isomorph.toml", "[environments.e]\nseed = 1\n"),
        ("sweep.toml", "verb = 'run'\n" + MODEL),
        ("sweep.toml", "seeds = [1, 1]\n" + MODEL),
        ("sweep.toml", "seeds = [-1]\n" + MODEL),
        ("sweep.toml", "include = [{ modell = 'a' }]\n" + MODEL),
        ("sweep.toml", "include = [{}]\n" + MODEL),
        ("sweep.toml", MODEL + "environments = ['e']\n"),
        ("sweep.toml", MODEL + "[shards.s]\nstrict = true\n"),
        ("sweep.toml", MODEL + "[environments.e]\ninputs = 'x.npz'\n"),
        ("sweep.toml", "[environments.e]\n"),
    ],
)
def test_what_the_schema_forbids_is_refused_by_the_reader(tmp_path, file, text):
    assert not _validator(file).is_valid(tomllib.loads(text))
    (tmp_path / file).write_text(text)
    with pytest.raises(UsageError):
        READERS[file](tmp_path / file)


@pytest.mark.parametrize("file", READERS)
def test_every_option_is_described(file):
    tables = json.loads(settings_schema_text(file))["properties"]
    options = tables["models" if "models" in tables else "pairs"]["additionalProperties"]
    described = options["properties"]
    assert len(described) > 15
    assert all(len(each["description"]) > 20 for each in described.values())
