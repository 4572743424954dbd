"""Where tests stand: a test of one module at that module's path, everything else elsewhere."""

import tomllib
from pathlib import Path, PurePosixPath

import pytest

UNIT = PurePosixPath("tests/unit")
SOURCE = PurePosixPath("src/isomorph")


def modules_of(names):
    """Every module of the package by folder, without the underscores around its name."""
    modules = {}
    for path in map(PurePosixPath, names):
        if path.is_relative_to(SOURCE) and path.suffix == ".py":
            folder = path.relative_to(SOURCE).parent
            modules.setdefault(folder, set()).add(path.stem.strip("_"))
    return modules


def without_subject(names):
    """Files of tests/unit that are neither test_<module>.py nor test_<module>_<aspect>.py."""
    modules = modules_of(names)
    found = []
    for path in map(PurePosixPath, names):
        if path.is_relative_to(UNIT) and path.name.startswith("test_") and path.suffix == ".py":
            subject = path.stem.removeprefix("test_")
            known = modules.get(path.relative_to(UNIT).parent, set())
            if not any(subject == each or subject.startswith(f"{each}_") for each in known):
                found.append(str(path))
    return found


@pytest.fixture(scope="module")
def names(tracked, root):
    return [path.relative_to(root).as_posix() for path in tracked]


def test_every_unit_test_mirrors_a_module(names):
    tests = [name for name in names if PurePosixPath(name).is_relative_to(UNIT)]
    assert len(tests) > 100, "the gate saw nothing"
    assert not without_subject(names)


@pytest.mark.parametrize(
    ("test", "mirrors"),
    [
        ("tests/unit/core/test_graph.py", True),
        ("tests/unit/core/test_graph_cuts.py", True),
        ("tests/unit/core/test_shape.py", True),
        ("tests/unit/test_main.py", True),
        ("tests/unit/core/test_graphs.py", False),
        ("tests/unit/core/test_edge.py", False),
        ("tests/unit/test_graph.py", False),
        ("tests/unit/store/test_graph.py", False),
        ("tests/behavior/core/test_edge.py", True),
    ],
)
def test_the_gate_tells_a_mirrored_test_from_another(test, mirrors):
    sources = [f"src/isomorph/{name}.py" for name in ("__main__", "core/graph", "core/_shape")]
    assert without_subject([*sources, test]) == ([] if mirrors else [test])


def test_a_helper_is_found_under_one_name_only(root):
    """Helpers are imported by their names alone, from the folders that pytest puts on the path."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders = settings["tool"]["pytest"]["ini_options"]["pythonpath"]
    helpers = [path.stem for folder in folders for path in Path(root, folder).glob("*.py")]
    helpers = [name for name in helpers if name != "conftest"]
    assert "tflite_building" in helpers, "the gate saw nothing"
    assert not {name for name in helpers if helpers.count(name) > 1}
