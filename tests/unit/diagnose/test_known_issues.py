import re
from dataclasses import replace

import pytest

from cause_examples import slope
from isomorph import registry
from isomorph.core.model import Node
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


def test_a_matching_report_is_cited_with_its_address(context):
    text = "AveragePool count_include_pad is 0, not 1"
    (first, *rest) = matching_issues("attribute", text, pooled(context), ("pytorch", "onnx"))
    assert "https://github.com/" in first
    assert len(rest) <= 1


def test_another_operator_cause_framework_or_parameter_is_not_cited(context):
    text = "AveragePool count_include_pad is 0, not 1"
    assert not matching_issues("attribute", text, context, ("pytorch", "onnx"))
    assert not matching_issues("weight", text, pooled(context), ("pytorch", "onnx"))
    assert not matching_issues("attribute", text, pooled(context), ("jax",))
    assert not matching_issues("attribute", text, pooled(context), ("jax", "onnx")), (
        "another conversion"
    )
    assert not matching_issues(
        "attribute", "strides is 2, not 1", pooled(context), ("pytorch", "onnx")
    )
