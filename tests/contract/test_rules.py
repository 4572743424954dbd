"""Every rule of lint finds its positive examples and nothing in its negative ones."""

import inspect
import re

import pytest

from isomorph import registry
from isomorph.core.lint import Remark, Severity

CHECKS = [registry.rule(name) for name in registry.names("rules")]


def test_there_are_checks():
    assert len(CHECKS) > 15


def test_codes_are_stable_words_and_each_stands_once():
    codes = [check.code for check in CHECKS]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"ISO1\d\d", code) for code in codes)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_finds_its_positive_examples_and_no_others(check):
    assert check.positive_examples, "a check needs an example it finds"
    assert check.negative_examples, "a check needs an example it leaves alone"
    for linted in check.positive_examples:
        assert {remark.code for remark in check.check(linted)} == {check.code}
    for linted in check.negative_examples:
        assert not list(check.check(linted))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_remark_has_a_message_and_advice(check):
    for linted in check.positive_examples:
        for remark in check.check(linted):
            assert isinstance(remark, Remark)
            assert remark.check == check.name
            assert isinstance(remark.severity, Severity)
            assert remark.message
            assert remark.advice


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_docstring_is_a_page(check):
    page = inspect.getdoc(type(check))
    assert page.splitlines()[0].endswith((".", ":"))
