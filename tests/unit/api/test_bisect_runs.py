"""Which runtime and which side run in the releases."""

from pathlib import Path

import pytest

import isomorph
from isomorph.api.bisect_runs import Releases
from isomorph.core.errors import UsageError


def test_a_package_that_no_runtime_comes_from_is_refused(dense):
    with pytest.raises(UsageError, match="no runtime is known to come from the package 'nonesuch'"):
        isomorph.bisect(dense, package="nonesuch")
    with pytest.raises(UsageError, match="needs the name of a package"):
        isomorph.bisect(dense)


def test_optimizers_belong_to_a_runtime_that_lists_them(dense):
    with pytest.raises(UsageError, match="does not list its optimizers"):
        isomorph.bisect(dense, over="optimizers", runtime="openvino")


def test_environments_lie_in_the_stated_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = Releases(
        package="p", versions="..", python=None, extra=(), cache=Path("kept"), reproducer=None
    )
    assert asked.folder == tmp_path / "kept"
