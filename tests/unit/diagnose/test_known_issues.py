import re
from dataclasses import replace

import numpy as np
import pytest

from cause_examples import slope
from isomorph import registry
from isomorph.core.fault_context import Certainty, Detail, Diagnosis
from isomorph.core.model import Node
from isomorph.diagnose.activation_forms import Form
from isomorph.diagnose.constant_diff import difference
from isomorph.diagnose.known_issues import known_issues, matching_issues


def test_each_thread_is_kept_once_with_a_cause_that_exists():
    issues = known_issues()
    assert len(issues) > 100
    assert len({each.thread for each in issues}) == len(issues)
    assert {each.cause for each in issues} <= set(registry.names("causes"))
    for each in issues:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", each.thread)
        assert each.ops
        assert each.frameworks
        assert each.mechanism


@pytest.fixture(scope="module")
def context():
    return slope()


def pooled(context):
    node = Node(name="p", op="AveragePool", native_op="AveragePool", inputs=("x",), outputs=("y",))
    return replace(context, node=node, nodes=(node,), counterparts=(node,))


def diagnosis(*about, cause="attribute"):
    return Diagnosis(
        cause=cause, summary="", certainty=Certainty.CONFIRMED, about=frozenset(about)
    )  # fmt: skip


def test_a_matching_report_is_cited_with_its_address(context):
    found = diagnosis("count_include_pad")
    (first, *rest) = matching_issues(found, pooled(context), ("pytorch", "onnx"))
    assert "https://github.com/" in first
    assert len(rest) <= 1


def test_another_operator_cause_framework_or_parameter_is_not_cited(context):
    found, both = diagnosis("count_include_pad"), ("pytorch", "onnx")
    assert not matching_issues(found, context, both)
    assert not matching_issues(replace(found, cause="weight"), pooled(context), both)
    assert not matching_issues(found, pooled(context), ("jax",))
    assert not matching_issues(found, pooled(context), ("jax", "onnx")), "another conversion"
    assert not matching_issues(diagnosis("strides"), pooled(context), both)


def test_the_words_of_a_summary_match_nothing(context):
    spoken = replace(diagnosis("strides"), summary="AveragePool count_include_pad is 0, not 1")
    assert not matching_issues(spoken, pooled(context), ("pytorch", "onnx"))


def test_names_match_without_regard_to_case(context):
    node = Node(name="g", op="Gelu", native_op="Gelu", inputs=("x",), outputs=("y",))
    gelu = replace(context, node=node, nodes=(node,), counterparts=(node,))
    assert matching_issues(diagnosis("GELU_TANH"), gelu, ("pytorch", "onnx"))


def test_reports_are_about_what_a_diagnosis_can_be_about():
    """A parameter may have any name; what else narrows a report is a type or a detail."""
    details = {each.value for each in Detail}
    types = {"float16", "bfloat16", "tf32", "int32"}
    forms = {each.name.casefold() for each in Form}
    known = {
        "quantization": details | {"axis"},
        "precision": details | types,
        "dtype": types,
        "weight": details | types,
    }
    for each in known_issues():
        assert each.about <= known.get(each.cause, each.about), each.thread
        assert {name for name in each.about if name.startswith(("gelu_", "hard_"))} <= forms


@pytest.mark.parametrize(
    ("values", "about"),
    [
        (lambda right: right.astype(np.float16).astype(np.float64), {"float16"}),
        (lambda right: right[::-1], {"reordered"}),
        (lambda right: right * 3.0, set()),
    ],
)
def test_the_difference_of_a_constant_is_known_by_name(values, about):
    right = np.random.default_rng(0).normal(size=(6, 5))
    assert difference(values(right), right).about == about
