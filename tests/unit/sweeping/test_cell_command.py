"""The words of a cell are those that the command line reads."""

import pytest

from isomorph.cli.app import command
from isomorph.cli.parameters import parameters_of
from isomorph.cli.parser import parse
from isomorph.core.sweep import Cell
from isomorph.store.projects import option_names
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
    assert set(option_words()) == set(option_names()) - elsewhere == set(EXAMPLES)


def test_runtimes_of_both_sides():
    sides = {"reference": "pytorch", "candidate": "openvino"}
    assert words(runtime=sides)[4:] == [
        "--runtime=reference=pytorch",
        "--runtime=candidate=openvino",
    ]


def test_a_false_switch_says_nothing():
    assert words(strict=False)[4:] == []
