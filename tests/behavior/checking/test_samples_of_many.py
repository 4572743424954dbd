"""A test set against a PyTorch reference: a fault of one sample in 200 is found, however small.

After a few samples the float64 values of the candidate decide about those that are clearly within
their budget; the reference's are computed where they leave a doubt.
"""

from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.stated_numbers import SAMPLES_BY_BOTH
from isomorph.frameworks.pytorch.evaluator import TorchEvaluator
from isomorph.oracle.evaluator import Evaluator

LAYERS, WIDTH, SAMPLES, PLACE, CEILING = 8, 12, 200, 150, 5.0


def _weights():
    draw = np.random.default_rng(4)
    return [(draw.normal(size=(WIDTH, WIDTH)) / 4).astype(np.float32) for _ in range(LAYERS)]


SCALES = np.linspace(0.7, 1.3, WIDTH, dtype=np.float32)


class Dense(torch.nn.Module):
    """Dense layers with tanh between them, and perhaps a scale for each channel."""

    def __init__(self, *, scaled=False):
        super().__init__()
        self.layers = torch.nn.ParameterList(torch.from_numpy(each) for each in _weights())
        self.scaled = scaled
        self.scales = torch.nn.Parameter(torch.from_numpy(SCALES))

    def forward(self, x):
        for weight in self.layers:
            x = torch.tanh((x @ weight) * self.scales if self.scaled else x @ weight)
        return x


def _onnx(path, *, ceiling, folded=False):
    nodes, before = [], "x"
    if ceiling:
        nodes.append(helper.make_node("Min", ["x", "ceiling"], ["cut"], name="cut"))
        before = "cut"
    constants = {
        f"w{i}": weight * SCALES if folded else weight for i, weight in enumerate(_weights())
    }
    constants["ceiling"] = np.array(CEILING, np.float32)
    for i in range(LAYERS):
        nodes.append(helper.make_node("MatMul", [before, f"w{i}"], [f"m{i}"], name=f"dense{i}"))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"t{i}"], name=f"tanh{i}"))
        before = f"t{i}"
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])],
        [helper.make_tensor_value_info(before, TensorProto.FLOAT, [1, WIDTH])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()
         if ceiling or name != "ceiling"],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    example = (torch.zeros(1, WIDTH),)
    torch.export.save(torch.export.export(Dense().eval(), example), folder / "net.pt2")
    scaled = torch.export.export(Dense(scaled=True).eval(), example)
    torch.export.save(scaled, folder / "scaled.pt2")
    _onnx(folder / "folded.onnx", ceiling=False, folded=True)
    _onnx(folder / "same.onnx", ceiling=False)
    _onnx(folder / "cut.onnx", ceiling=True)
    x = np.random.default_rng(5).normal(size=(SAMPLES, WIDTH)).astype(np.float32)
    np.save(folder / "below.npy", x)
    # Beyond the ceiling by little: the output moves by a few budgets.
    x[PLACE, 3] = CEILING * (1 + 2e-5)
    np.save(folder / "one.npy", x)
    np.save(folder / "alone.npy", x[PLACE : PLACE + 1])
    return folder


@pytest.fixture
def passes(monkeypatch):
    """How many runs from the input each kind of oracle made, without noise."""
    found = Counter()

    def counting(kind):
        usual = kind.run

        def run(self, feeds, fetch, noise=None, *rest, **more):
            found[kind] += noise is None and "x" in feeds
            found["whole draws"] += noise is not None and "x" in feeds
            return usual(self, feeds, fetch, noise, *rest, **more)

        monkeypatch.setattr(kind, "run", run)

    counting(TorchEvaluator)
    counting(Evaluator)
    return found


def _checked(folder, candidate, data, reference="net.pt2"):
    return isomorph.check(
        folder / reference, folder / candidate, data=folder / data, in_process=True, seed=0
    )


def test_a_fault_that_one_sample_shows_by_a_small_margin_is_found(folder):
    alone = _checked(folder, "cut.onnx", "alone.npy")
    assert alone.verdict == "divergent"
    assert 1 < alone.outputs[0].observed.budget.ratio < 20
    report = _checked(folder, "cut.onnx", "one.npy")
    assert report.verdict == "divergent"
    assert report.test_set.examined == (f"one.npy[{PLACE}]",)
    assert report.findings[0].node == "cut"


def test_samples_that_are_clearly_within_need_no_float64_values_of_the_reference(folder, passes):
    report = _checked(folder, "same.onnx", "below.npy")
    assert (report.verdict, report.test_set.samples) == ("equivalent", SAMPLES)
    assert SAMPLES_BY_BOTH <= passes[TorchEvaluator] < SAMPLES // 2
    assert passes[Evaluator] >= SAMPLES


def test_where_an_optimizer_may_have_acted_every_sample_is_judged_by_both(folder, passes):
    report = isomorph.check(
        folder / "same.onnx", folder / "net.pt2", data=folder / "below.npy", in_process=True, seed=0
    )
    assert report.verdict == "equivalent"
    assert min(passes[TorchEvaluator], passes[Evaluator]) >= SAMPLES


def test_folded_constants_need_no_draws_of_the_whole_graph_for_each_sample(folder, passes):
    report = _checked(folder, "folded.onnx", "below.npy", "scaled.pt2")
    assert (report.verdict, report.test_set.samples) == ("equivalent", SAMPLES)
    # The last nodes leave a few samples in doubt; three draws of either side for all are 1,200.
    assert passes["whole draws"] < SAMPLES
