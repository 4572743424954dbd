"""The repair command repeats the check, and is given only where a patch is possible."""

import shlex
from dataclasses import replace
from itertools import pairwise

import pytest

from isomorph.core.request import CheckRequest, FileRole, RequestedFile
from isomorph.localize import other_checkpoint
from isomorph.reporters._repair_command import needs_report, repair_command, repairable


@pytest.fixture
def plain(report):
    return replace(report, request=CheckRequest(), seed=0, trusted=())


def test_the_plain_command_has_no_options(plain):
    assert repair_command(plain) == "isomorph fix net.pt2 net.onnx -o repaired.onnx"


def test_every_option_of_the_check_is_repeated(plain):
    asked = CheckRequest(
        files=(RequestedFile(role=FileRole.INPUTS, location="my x.npz", digest=""),),
        runtime={"candidate": "openvino"},
        settings={"candidate.threads": "1"},
        dims={"batch": 2},
        budgets={"": 0.5, "y": 0.25},
        bind_inputs={"a": "b"},
        bind_outputs={"c": "d"},
        layouts={"x": (0, 2, 3, 1)},
        memory=2048,
        timeout=9.5,
    )
    words = shlex.split(repair_command(replace(plain, request=asked, seed=3, trusted=("f",))))
    pairs = set(pairwise(words))
    assert {
        ("--inputs", "my x.npz"), ("--runtime", "candidate=openvino"), ("--dim", "batch=2"),
        ("--set", "candidate.threads=1"), ("--budget", "0.5"), ("--budget", "y=0.25"),
        ("--bind-input", "a=b"), ("--bind-output", "c=d"), ("--layout", "x=0,2,3,1"),
        ("--memory", "2048"), ("--timeout", "9.5"), ("--seed", "3"),
    } <= pairs  # fmt: skip
    assert "--trust" in words


@pytest.mark.parametrize(
    "asked",
    [
        CheckRequest(decode=4),
        CheckRequest(files=(RequestedFile(role=FileRole.DATA, location="set", digest=""),)),
    ],
)
def test_what_fix_has_no_option_for_is_taken_from_a_report(plain, asked):
    made = replace(plain, request=asked)
    assert needs_report(made)
    assert repair_command(made) == "isomorph fix REPORT.json -o repaired.onnx"


def test_a_cause_without_patches_has_no_command(report):
    (finding,) = report.findings
    assert repairable(finding)
    assert not repairable(replace(finding, cause="kernel"))
    assert not repairable(replace(finding, code=other_checkpoint.CODE))
    assert not repairable(replace(finding, fix=None))


def test_a_framework_that_cannot_be_patched_has_no_command(plain):
    traced = replace(plain.models[1], framework="recorded")
    assert repair_command(replace(plain, models=(plain.models[0], traced))) is None


@pytest.mark.parametrize(
    ("framework", "cause", "offered"),
    [
        ("coreml", "missing_op", False),
        ("executorch", "missing_op", False),
        ("coreml", "weight", True),
        ("openvino", "missing_op", True),
    ],
)
def test_a_format_of_which_values_are_patched_is_offered_no_change_of_nodes(
    plain, framework, cause, offered
):
    candidate = replace(plain.models[1], framework=framework)
    of = replace(plain, models=(plain.models[0], candidate))
    assert repairable(replace(plain.findings[0], cause=cause), of) is offered
