import sys
from importlib import metadata

import pytest

from isomorph.core import entry_points as found
from isomorph.core.entry_points import entry_points


def install(folder, name, text):
    place = folder / name
    place.mkdir(parents=True)
    (place / "entry_points.txt").write_text(text)


def test_our_own_are_those_of_the_metadata():
    expected = {
        (kind, each.name, each.value)
        for kind in metadata.entry_points().groups
        if kind.startswith("isomorph.")
        for each in metadata.entry_points(group=kind)
    }
    found_points = {
        (group, point.name, point.value)
        for group, points in entry_points("isomorph.").items()
        for point in points.values()
    }
    assert found_points == expected
    assert found_points


def test_the_first_on_the_path_counts(tmp_path, monkeypatch):
    install(
        tmp_path / "a", "some_tool-2.0.dist-info", "[our.kind]\nx = one:One\n[other]\ny = no:No\n"
    )
    install(tmp_path / "b", "Some.Tool-1.0.dist-info", "[our.kind]\nx = two:Two\nz = two:Z\n")
    install(
        tmp_path / "b",
        "more.egg-info",
        "# a comment\n[our.kind]\n  w=more:W [extra]\n; no = no:No\n",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b"), "/nonexistent"])
    points = entry_points("our.")
    assert set(points) == {"our.kind"}
    assert {name: point.value for name, point in points["our.kind"].items()} == {
        "x": "one:One",
        "w": "more:W [extra]",
    }


def test_an_archive_on_the_path_is_left_to_the_metadata(tmp_path, monkeypatch):
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"PK")
    monkeypatch.setattr(sys, "path", [*sys.path, str(archive)])
    monkeypatch.setattr(found, "_in_folders", lambda prefix: pytest.fail("not looked for"))
    assert "isomorph.frameworks" in entry_points("isomorph.")


@pytest.mark.parametrize("value", ["os.path:join", "os:path.join", "os : path.join [extra]"])
def test_a_point_is_loaded_by_module_and_attribute(value):
    import os.path

    assert found.EntryPoint("x", value).load() is os.path.join
