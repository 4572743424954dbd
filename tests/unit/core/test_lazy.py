"""A missing package is named with its extra; a broken one keeps its own error."""

import pytest

from isomorph.core.errors import MissingDependencyError
from isomorph.core.lazy import require


def test_what_is_installed_is_imported():
    assert require("json", extra="x", needed_for="a test").dumps([]) == "[]"


@pytest.mark.parametrize("package", ["no_such_package_here", "no_such_package_here.part"])
def test_what_is_missing_is_reported_with_its_extra(package):
    with pytest.raises(MissingDependencyError) as caught:
        require(package, extra="torch", needed_for="reading it")
    assert "isomorph[torch]" in caught.value.fix


def test_a_package_that_lacks_another_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there_package.py").write_text("import no_such_package_here")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError) as caught:
        require("half_there_package", extra="x", needed_for="a test")
    assert caught.value.name == "no_such_package_here"
