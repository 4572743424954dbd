"""The worst input of a pair is found, stored, and checked."""

import warnings

import numpy as np
import pytest
import torch

import isomorph
from isomorph.cli.app import app
from isomorph.core.stress import StressFinding


class Clipped(torch.nn.Module):
    """A small network whose output is clipped; its usual inputs do not reach the bound."""

    def __init__(self, bound):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)
        )
        self.bound = bound

    def forward(self, x):
        """Clipped from above and below."""
        return torch.clamp(self.layers(x), -self.bound, self.bound)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A PyTorch reference, and ONNX files with the same bound and with another."""
    folder, x = tmp_path_factory.mktemp("pair"), torch.zeros(1, 8)
    torch.export.save(torch.export.export(Clipped(0.9).eval(), (x,)), folder / "m.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for bound in (0.9, 0.95):
            torch.onnx.export(
                Clipped(bound).eval(), (x,), folder / f"{bound}.onnx", dynamo=False,
                input_names=["x"],
            )  # fmt: skip
    np.savez(folder / "start.npz", x=np.full((1, 8), 0.1, np.float32))
    return folder


def test_an_input_that_shows_a_difference_is_found_and_stored(pair, tmp_path, capsys):
    worst = tmp_path / "worst.npz"
    words = [str(pair / "m.pt2"), str(pair / "0.95.onnx")]
    start = ["--inputs", str(pair / "start.npz"), "--range", "x=-3:3", "--in-process"]
    assert app(["stress", *words, *start, "-o", str(worst)]) == 1
    shown = capsys.readouterr().out
    assert "the functions differ: their float64 evaluations differ as well" in shown
    assert f"again: isomorph check {words[0]} {words[1]} --inputs {worst}" in shown
    with np.load(worst) as arrays:
        x = arrays["x"]
    assert x.dtype == np.float32
    assert np.abs(x).max() <= 3
    # Many elements are those of the first sample, or zero.
    assert np.count_nonzero((x != np.float32(0.1)) & (x != 0)) < 8
    assert app(["check", *words, "--inputs", str(worst), "--quick", "--in-process"]) == 1


def test_a_faithful_pair_stays_within_its_budget(pair):
    found = isomorph.stress(
        str(pair / "m.pt2"), str(pair / "0.9.onnx"), ranges={"": (-3.0, 3.0)}, in_process=True
    )
    assert found.finding is StressFinding.WITHIN
    assert found.exit_code == 0
    assert found.ratio <= 1.0
    assert found.start_ratio <= found.ratio / 0.8
    assert found.gradients > 0
    assert found.runs > found.budgets > 4
    assert [each.name for each in found.report.inputs] == ["x"]


def test_ids_stay_rows_of_their_table(tmp_path):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.Linear(4, 2)).eval()
    ids = torch.zeros(1, 5, dtype=torch.int64)
    torch.export.save(torch.export.export(module, (ids,)), tmp_path / "m.pt2")
    with torch.no_grad():
        # One row that a single sample may not select.
        module[0].weight[6] += 0.5
    torch.export.save(torch.export.export(module, (ids,)), tmp_path / "other.pt2")
    found = isomorph.stress(
        tmp_path / "m.pt2", tmp_path / "other.pt2", inputs=[ids.numpy()], in_process=True
    )
    (values,) = found.inputs.values()
    assert values.dtype == np.int64
    assert 0 <= values.min() <= values.max() == 6
    assert found.exit_code == 1
    assert found.finding is StressFinding.DIFFERENT_FUNCTION
