"""A fixture, and where reports of failed assertions go. Imports isomorph only when it is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPORTS, BASELINE = "ISOMORPH_REPORTS", "ISOMORPH_BASELINE"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Where to write, and what was accepted."""
    _leave_as_it_is(pluginmanager)
    group = parser.getgroup("isomorph")
    group.addoption("--isomorph-reports", metavar="DIR", help="where failed checks leave reports")
    group.addoption("--isomorph-baseline", metavar="FILE", help="divergences that were accepted")
    parser.addini("isomorph_baseline", "divergences that were accepted (a baseline file)")


def pytest_configure(config: pytest.Config) -> None:
    """Put the options into the environment, which the workers of xdist inherit."""
    folder = config.getoption("--isomorph-reports")
    if folder is None:
        # Not config.cache: tests run with `-p no:cacheprovider` as well.
        folder = config.rootpath / ".pytest_cache" / "isomorph"
    os.environ.setdefault(REPORTS, str(Path(folder).absolute()))
    stated = config.getoption("--isomorph-baseline") or config.getini("isomorph_baseline")
    if stated:
        os.environ.setdefault(BASELINE, str((config.rootpath / stated).absolute()))


def _leave_as_it_is(pluginmanager: pytest.PytestPluginManager) -> None:
    """Keep pytest from rewriting the assertions of isomorph itself.

    It does so with every package that comes along with a plugin, which costs the first import of
    hundreds of modules a compilation, and a second set of files beside them. There is no public
    way to decline for a whole package; where this one is gone, imports are slow and right.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("isomorph")


@pytest.fixture
def assert_equivalent() -> Callable[..., Any]:
    """``isomorph.testing.assert_equivalent``, imported when a test asks for it."""
    from isomorph.testing import assert_equivalent as function

    return function
