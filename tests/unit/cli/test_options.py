import inspect

import pytest

from isomorph import api
from isomorph.api.option_keywords import (
    CheckKeywords,
    ConvertKeywords,
    PairKeywords,
    RuntimeKeywords,
)
from isomorph.cli import options
from isomorph.cli.option_groups import (
    CheckFlags,
    ConvertLoadFlags,
    InputFlags,
    LoadFlags,
    PairFlags,
    RepairFlags,
    RouteFlags,
    RuntimeFlags,
    SampleFlags,
    TargetFlags,
    options_of,
)
from isomorph.core.errors import UsageError


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, None),
        ([], None),
        (["onnxruntime"], "onnxruntime"),
        (["candidate=onnxruntime"], {"candidate": "onnxruntime"}),
        (["onnxruntime@/a=b/env"], "onnxruntime@/a=b/env"),
        (["candidate=onnxruntime@/a=b/env"], {"candidate": "onnxruntime@/a=b/env"}),
        (["pytorch", "candidate=onnxruntime"],
         {"reference": "pytorch", "candidate": "onnxruntime"}),
    ],
)  # fmt: skip
def test_runtimes(given, read):
    assert options.runtimes(given) == read


@pytest.mark.parametrize("given", [["a", "b"], ["other=a"], ["candidate="], [""], ["=a"]])
def test_a_runtime_that_cannot_be_read(given):
    with pytest.raises(UsageError, match="--runtime"):
        options.runtimes(given)


def test_settings_keep_their_side_and_every_later_equals_sign():
    given = ["candidate.optimization=all", "disable=a=b"]
    assert options.settings(given) == {"candidate.optimization": "all", "disable": "a=b"}


@pytest.mark.parametrize("given", [["word"], ["=x"], ["a=1", "a=2"]])
def test_a_setting_that_cannot_be_read(given):
    with pytest.raises(UsageError, match="--set"):
        options.settings(given)


def test_dims():
    assert options.dims(["batch=2", "a=b=0"]) == {"batch": 2, "a=b": 0}


@pytest.mark.parametrize("given", ["batch", "batch=-1", "batch=2.0", "batch=two", "batch=²"])
def test_a_dim_that_cannot_be_read(given):
    with pytest.raises(UsageError, match="--dim"):
        options.dims([given])


def test_budgets():
    assert options.budgets(["1e-3", "a=b=2"]) == {"": 1e-3, "a=b": 2.0}
    assert options.budgets(None) == {}


@pytest.mark.parametrize("given", [["x"], ["a="], ["nan"], ["inf"], ["-1"], ["1", "2"]])
def test_a_budget_that_cannot_be_read(given):
    with pytest.raises(UsageError, match="--budget"):
        options.budgets(given)


@pytest.mark.parametrize(
    ("given", "read"),
    [(None, None), ("512", 512), ("4GiB", 4 * 2**30), ("1.5kb", 1500), ("2 M", 2_000_000)],
)
def test_memory(given, read):
    assert options.memory_bytes(given) == read


@pytest.mark.parametrize("given", ["", "GiB", "0", "-1GiB", "4 XiB", "1e9"])
def test_a_memory_that_cannot_be_read(given):
    with pytest.raises(UsageError, match="--memory"):
        options.memory_bytes(given)


@pytest.mark.parametrize("given", [0.0, -1.0, float("nan"), float("inf")])
def test_a_deadline_that_is_none(given):
    with pytest.raises(UsageError, match="--timeout"):
        options.seconds(given)


def test_a_group_states_what_was_given_under_the_names_of_the_api():
    flags = PairFlags(runtime=["onnxruntime"], bind_output=["a=b"], layout=["x=0,2,1"])
    assert flags.options == {
        "runtime": "onnxruntime",
        "bind_outputs": {"a": "b"},
        "layouts": {"x": (0, 2, 1)},
    }
    assert PairFlags().options == {}


def test_a_switch_that_is_turned_off_is_given():
    assert CheckFlags(locate=False).options == {"locate": False}
    assert CheckFlags(strict=True).options == {"strict": True}
    assert options_of(LoadFlags(trust=True), InputFlags(seed=0)) == {"trust": True, "seed": 0}


@pytest.mark.parametrize(
    ("verb", "keywords", "groups"),
    [
        (api.check, CheckKeywords, (InputFlags, SampleFlags, PairFlags, CheckFlags, LoadFlags)),
        (api.fix, PairKeywords, (RepairFlags, InputFlags, PairFlags, LoadFlags)),
        (api.extract, PairKeywords, (InputFlags, PairFlags, LoadFlags)),
        (api.run, RuntimeKeywords, (InputFlags, RuntimeFlags, LoadFlags)),
        (api.trace, RuntimeKeywords, (InputFlags, RuntimeFlags, LoadFlags)),
        (api.convert, ConvertKeywords, (TargetFlags, RouteFlags, InputFlags, ConvertLoadFlags)),
    ],
)
def test_every_option_of_a_command_is_a_keyword_of_its_verb(verb, keywords, groups):
    known = {*inspect.signature(verb).parameters, *keywords.__annotations__}
    for group in groups:
        assert group.keywords() <= known
