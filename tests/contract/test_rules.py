"""Every check of lint speaks where it should, and only there."""

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
def test_a_check_speaks_when_it_should_and_only_then(check):
    assert check.speaks, "a check needs an example it finds"
    assert check.silent, "a check needs an example it leaves alone"
    for subject in check.speaks:
        assert {remark.code for remark in check.check(subject)} == {check.code}
    for subject in check.silent:
        assert not list(check.check(subject))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_remark_says_what_is_wrong_and_what_to_do(check):
    for subject in check.speaks:
        for remark in check.check(subject):
            assert isinstance(remark, Remark)
            assert remark.check == check.name
            assert isinstance(remark.severity, Severity)
            assert remark.message
            assert remark.advice


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_docstring_is_a_page(check):
    page = inspect.getdoc(type(check))
    assert page.splitlines()[0].endswith((".", ":"))
