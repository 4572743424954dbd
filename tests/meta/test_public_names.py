import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import isomorph
from isomorph import registry

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(isomorph.__path__, prefix="isomorph.")
)


def test_the_public_names_are_exactly_these():
    assert isomorph.__all__ == [
        "CheckOptions",
        "ConvertOptions",
        "Finding",
        "IsomorphError",
        "Limits",
        "PairOptions",
        "Report",
        "RuntimeOptions",
        "Verdict",
        "__version__",
        "bisect",
        "check",
        "convert",
        "diff",
        "extract",
        "fix",
        "inspect",
        "lint",
        "load_report",
        "op",
        "prove",
        "ranges",
        "run",
        "stress",
        "sweep",
        "trace",
    ]


@pytest.mark.parametrize("name", isomorph.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert name in dir(isomorph)
    value = getattr(isomorph, name)
    assert isinstance(value, str) or value.__doc__


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        isomorph.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]
)
def test_every_entry_point_loads_under_its_own_name(kind, name):
    extension = registry.load(kind, name)
    assert extension.name == name
    folder, _, module = type(extension).__module__.rpartition(".")
    if kind == "frameworks":
        assert (folder, module) == (f"isomorph.frameworks.{name}", "framework")
    elif kind == "runtimes":
        assert folder.startswith("isomorph.frameworks.")
        assert module == ("oracle" if name.endswith("_oracle") else "runtime")
    else:
        # File name = registry name = the word on the command line; a module has no hyphen.
        assert module == name.replace("-", "_")


def test_the_registry_was_not_empty():
    assert {"onnx", "pytorch"} <= set(registry.names("frameworks"))
    assert {"json", "terminal"} <= set(registry.names("reporters"))


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_a_docstring(name):
    source = Path(find_spec(name).origin).read_text(encoding="utf-8")
    assert source.lstrip().startswith(('"""', 'r"""')), f"{name} does not say what it is for"
