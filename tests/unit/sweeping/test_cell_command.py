"""The words of a cell are those that the command line reads."""

import pytest

from isomorph.cli.app import command
from isomorph.cli.parameters import parameters_of
from isomorph.cli.parser import parse
from isomorph.core.sweep import Cell, Verb
from isomorph.store.projects import option_names
from isomorph.store.sweep_options import OF_CONVERSION
from isomorph.sweeping.cell_command import command_words, option_words

EXAMPLES = {
    "inputs": "x.npz", "data": "days", "metric": "m:f", "state": "s", "runtime": "openvino",
    "settings": {"candidate.dtype": "bfloat16", "threads": "1"}, "dims": {"batch": 2},
    "budget": {"y": 1e-07}, "layouts": {"x": [0, 2, 3, 1]}, "bind_inputs": {"a": "b"},
    "bind_outputs": {"c": "d"}, "decode": 4, "caches": {"i": "o"}, "strict": True,
    "only_given": True, "trust": True, "quick": True, "prove": True, "translation_only": True,
    "locate": False,
    "memory": 1 << 30, "timeout": 9.5,
}  # fmt: skip
CONVERSION = {
    "to": "onnx", "quantize": "float16", "precision": "float16", "via": ["onnx", "onnx_slim"],
    "opset": 17, "repair": True, "data": "days", "state": "s", "dims": {"batch": 2},
}  # fmt: skip


def words(**options):
    cell = Cell(model="m", environment="e", shard="", seed=3, reference="a", candidate="b",
                options=options)  # fmt: skip
    return command_words(cell)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_command_line_reads_the_words(name):
    verb, *rest = words(**{name: EXAMPLES[name]})
    stated = parse(rest, parameters_of(command(verb)), program="isomorph check")
    assert stated["reference"] == "a"
    assert stated["seed"] == 3


def test_every_option_of_a_pair_has_words():
    elsewhere = {"reference", "candidate", "seed", "environments"}
    assert set(option_words()) - set(OF_CONVERSION) == set(option_names()) - elsewhere
    assert set(EXAMPLES) == set(option_names()) - elsewhere
    assert set(OF_CONVERSION) <= set(CONVERSION)


@pytest.mark.parametrize("name", CONVERSION)
def test_a_conversion_writes_what_nobody_keeps(name):
    cell = Cell(model="m", environment="e", shard="", seed=3, reference="a.onnx", candidate="",
                verb=Verb.CONVERT, options={name: CONVERSION[name]})  # fmt: skip
    verb, *rest = command_words(cell, "/tmp/here.made")
    stated = parse(rest, parameters_of(command(verb)), program="isomorph convert")
    assert (stated["source"], str(stated["target"])) == ("a.onnx", "/tmp/here.made")


def test_one_model_is_checked_alone():
    cell = Cell(model="m", environment="e", shard="", seed=0, reference="a", candidate="")
    assert command_words(cell) == ["check", "a", "--seed=0"]


def test_runtimes_of_both_sides():
    sides = {"reference": "pytorch", "candidate": "openvino"}
    assert words(runtime=sides)[4:] == [
        "--runtime=reference=pytorch",
        "--runtime=candidate=openvino",
    ]


def test_a_false_switch_says_nothing():
    assert words(strict=False)[4:] == []
