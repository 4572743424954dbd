"""Inputs that a report holds."""

import base64
import json

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.store.input_files import read_arrays


def written(tmp_path, report):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    return path


def test_the_first_inputs_of_a_finding_are_read(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    stored = {
        "dtype": "float32",
        "shape": [2, 3],
        "base64": base64.b64encode(x.tobytes()).decode(),
    }
    findings = [{"evidence": {}}, {"evidence": {"inputs": {"x": stored}}}]
    found = read_arrays(written(tmp_path, {"findings": findings}))
    assert list(found) == ["x"]
    assert np.array_equal(found["x"], x)
    assert found["x"].dtype == np.float32


@pytest.mark.parametrize(
    "report",
    [
        {"findings": []},
        {"findings": [{"evidence": {}}]},
        {"findings": [{"evidence": {"inputs": {"x": 3}}}]},
        {"findings": [{"evidence": {"inputs": {"x": {"dtype": "float32", "shape": [9],
                                                     "base64": "AAAA"}}}}]},
        {"other": 1},
    ],
)  # fmt: skip
def test_a_report_without_inputs_is_wrong_use(tmp_path, report):
    with pytest.raises(UsageError) as caught:
        read_arrays(written(tmp_path, report))
    assert caught.value.code == "INPUTS_UNREADABLE"
