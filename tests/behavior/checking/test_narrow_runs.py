"""A run that was set to a narrower float type declares a loss; the graphs are compared as ever."""

import pytest
import torch
from torch import nn

import isomorph
from isomorph.core.divergence import Verdict

TYPES = ("float16", "bfloat16")


class Residual(nn.Module):
    """A residual stream with a normalization; ``scale`` makes its inner sums large."""

    def __init__(self, epsilon=1e-5, scale=1.0):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 16)
        self.norm = nn.LayerNorm(16, eps=epsilon)
        with torch.no_grad():
            self.first.weight.mul_(scale)
            self.second.weight.div_(scale)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(self.norm(x))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    made = {"plain": Residual(), "altered": Residual(epsilon=1e-2), "large": Residual(scale=1e6)}
    for name, module in made.items():
        program = torch.export.export(module.eval(), (torch.randn(4, 16),))
        torch.export.save(program, folder / f"{name}.pt2")
    return folder


def checked(folder, reference, candidate, **settings):
    stated = {name.replace("_", "."): value for name, value in settings.items()}
    models = [folder / f"{reference}.pt2", *([folder / f"{candidate}.pt2"] if candidate else [])]
    runtime = isomorph.RuntimeOptions(settings=stated)
    return isomorph.check(*models, in_process=True, options=isomorph.CheckOptions(runtime=runtime))


@pytest.mark.parametrize("dtype", TYPES)
def test_what_the_type_rounds_is_a_loss_that_was_asked_for(folder, dtype):
    report = checked(folder, "plain", "plain", candidate_dtype=dtype)
    assert report.verdict is Verdict.DEGRADED, report.reason
    assert report.exit_code == 0
    [output] = report.outputs
    assert 0.01 < output.execution_candidate.budget.ratio <= 1.0, "the budget is of that size"
    assert not report.findings


@pytest.mark.parametrize("dtype", TYPES)
def test_a_model_alone_may_lose_as_much(folder, dtype):
    report = checked(folder, "plain", None, dtype=dtype)
    assert report.verdict is Verdict.DEGRADED, report.reason
    assert not report.findings


@pytest.mark.parametrize("dtype", TYPES)
def test_what_autocast_rounds_is_a_loss_that_was_asked_for(folder, dtype):
    report = checked(folder, "plain", "plain", candidate_autocast=dtype)
    assert report.verdict is Verdict.DEGRADED, report.reason
    [output] = report.outputs
    assert 0.01 < output.execution_candidate.budget.ratio <= 1.0, "the budget is of that size"
    assert not report.findings


def test_what_autocast_overflows_is_more_than_the_type_explains(folder):
    report = checked(folder, "large", "large", candidate_autocast="float16")
    assert report.verdict is Verdict.DIVERGENT
    assert "float16" in report.reason
    assert report.findings[0].cause == "precision"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("tf32", ["yes", "no"])
def test_tf32_is_a_loss_where_it_was_asked_for(folder, tf32):
    report = checked(folder, "plain", "plain", candidate_device="cuda", candidate_tf32=tf32)
    expected = Verdict.DEGRADED if tf32 == "yes" else Verdict.EQUIVALENT
    assert report.verdict is expected, report.reason
    assert not report.findings


def test_an_altered_graph_is_found_behind_the_loss_of_its_run(folder):
    report = checked(folder, "plain", "altered", candidate_dtype="bfloat16")
    assert report.verdict is Verdict.DIVERGENT
    assert (report.findings[0].node, report.findings[0].cause) == ("layer_norm", "attribute")


def test_an_overflow_is_more_than_the_type_explains(folder):
    assert checked(folder, "large", "large", candidate_dtype="bfloat16").verdict is Verdict.DEGRADED
    report = checked(folder, "large", "large", candidate_dtype="float16")
    assert report.verdict is Verdict.DIVERGENT
    assert "float16" in report.reason
    assert report.findings[0].cause == "precision"


def test_two_runs_of_one_narrow_type_are_the_same_function(folder):
    report = checked(folder, "plain", "plain", dtype="bfloat16")
    assert report.verdict is Verdict.EQUIVALENT, report.reason


def test_a_wider_type_is_no_loss(folder):
    report = checked(folder, "plain", "plain", candidate_dtype="float64")
    assert report.verdict is Verdict.EQUIVALENT, report.reason
