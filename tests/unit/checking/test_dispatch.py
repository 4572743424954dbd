"""One file under two settings is read once."""

from __future__ import annotations

import onnx
import pytest

import isomorph
from isomorph.checking.loader import Loader
from weight_pairs import linear, normal


@pytest.fixture
def loaded(monkeypatch):
    """The sources that were loaded."""
    sources = []
    load = Loader.load

    def noted(self, source):
        sources.append(str(source))
        return load(self, source)

    monkeypatch.setattr(Loader, "load", noted)
    return sources


@pytest.mark.parametrize("in_process", [True, False], ids=["here", "in workers"])
def test_one_file_under_two_settings_is_loaded_once(tmp_path, loaded, in_process):
    path = tmp_path / "model.onnx"
    onnx.save(linear(normal(6, 5)), path)
    settings = {"candidate.optimization": "none"}
    report = isomorph.check(
        path,
        path,
        inputs={"x": normal(4, 6, seed=2)},
        settings=settings,
        in_process=in_process,
    )
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert loaded == [str(path)]
    runs = [report.environments[f"{role} run"] for role in ("reference", "candidate")]
    assert [each.settings["optimization"] for each in runs] == ["all", "none"]


def test_two_files_are_loaded_each(tmp_path, loaded):
    paths = [tmp_path / name for name in ("one.onnx", "two.onnx")]
    for path in paths:
        onnx.save(linear(normal(6, 5)), path)
    isomorph.check(*paths, inputs={"x": normal(4, 6, seed=2)}, in_process=True)
    assert sorted(loaded) == sorted(map(str, paths))
