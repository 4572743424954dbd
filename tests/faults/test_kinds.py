"""Every kind of fault, from the check to the repair: the cause, its words, a verified model."""

import onnx
import pytest

from isomorph import api
from kinds import KINDS, NOT_REPAIRED


def saved(folder, reference, candidate):
    paths = folder / "reference.onnx", folder / "candidate.onnx"
    for path, proto in zip(paths, (reference, candidate), strict=True):
        onnx.save(proto, path)
    return paths


def assert_explained(report, cause, words):
    first = report.findings[0]
    assert (first.cause, first.status) == (cause, "confirmed"), first.summary
    assert words in first.summary


@pytest.mark.parametrize("name", KINDS)
def test_it_is_recognized_and_repaired(name, tmp_path):
    cause, reference, candidate, inputs, words = KINDS[name]
    paths = saved(tmp_path, reference, candidate)
    report = api.check(*paths, inputs=inputs, in_process=True)
    assert report.verdict == "divergent"
    assert_explained(report, cause, words)
    repair = api.fix(*paths, output=tmp_path / "fixed.onnx", inputs=inputs, in_process=True)
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.applied
    after = api.check(paths[0], tmp_path / "fixed.onnx", inputs=inputs, in_process=True)
    assert after.verdict in {"equivalent", "degraded"}


@pytest.mark.parametrize("name", NOT_REPAIRED)
def test_it_is_recognized(name, tmp_path):
    cause, reference, candidate, inputs, words = NOT_REPAIRED[name]
    report = api.check(*saved(tmp_path, reference, candidate), inputs=inputs, in_process=True)
    assert_explained(report, cause, words)
