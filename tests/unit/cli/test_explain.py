import json

import pytest

from isomorph.__main__ import main
from isomorph.cli.explain import SCHEMAS
from isomorph.reporters.agents_guide import agents_guide


def test_a_cause_is_explained(capsys):
    assert main(["explain", "kernel"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("kernel (cause)")
    assert "how it is known" in text
    assert "what to do" in text
    assert "https://github.com/" in text


def test_a_code_is_explained_with_its_exit_code(capsys):
    assert main(["explain", "UNSAFE_PICKLE"]) == 0
    assert "exit 4" in capsys.readouterr().out


def test_an_unknown_word_is_wrong_use(capsys):
    assert main(["explain", "kernle"]) == 2
    assert "did you mean 'kernel'" in capsys.readouterr().err


def test_without_a_word_everything_is_a_list(capsys):
    assert main(["explain"]) == 0
    text = capsys.readouterr().out
    assert main(["explain", "--list"]) == 0
    assert capsys.readouterr().out == text
    assert "GUILTY_NODE" in text
    assert "weight" in text


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_printed_as_it_ships(capsys, name):
    assert main(["explain", "--schema", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$id"].startswith("urn:isomorph:")
    assert schema["additionalProperties"] is False


def test_an_unknown_schema_is_wrong_use(capsys):
    assert main(["explain", "--schema", "toml"]) == 2
    assert "isomorph.toml" in capsys.readouterr().err


def test_the_guide_for_agents_is_printed(capsys):
    assert main(["explain", "--agents"]) == 0
    assert capsys.readouterr().out == agents_guide()
