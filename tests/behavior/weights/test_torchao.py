"""Programs that torchao quantized: faithful ones lose what they intend, and faults are found."""

import pytest

import isomorph
from isomorph.core.divergence import Verdict

torchao_networks = pytest.importorskip("torchao_networks")
KINDS, STORED = torchao_networks.KINDS, torchao_networks.STORED


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    import torch

    network = torchao_networks.network()
    exported = torch.export.export(network, (torchao_networks.example(),))
    return torchao_networks.saved(exported, tmp_path_factory.mktemp("torchao") / "float.pt2")


def checked(reference, exported, folder):
    candidate = torchao_networks.saved(exported, folder / "quantized.pt2")
    return isomorph.check(reference, candidate, in_process=True)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_faithful_program_is_degraded(reference, tmp_path, kind, whole):
    report = checked(reference, torchao_networks.quantized(kind, whole=whole), tmp_path)
    assert report.verdict is Verdict.DEGRADED
    assert not report.findings
    (found,) = report.outputs
    assert found.execution_candidate.within
    assert found.intended_loss.budget.ratio > 0.1


def wrong_row(stored):
    stored[f"{STORED}1"].data[3] *= 1.5


def shifted(stored):
    stored[f"{STORED}2"].data += 1


def turned(stored):
    weight = stored[f"{STORED}0"].data
    weight.copy_(weight.t().reshape(weight.shape))


def moved_bias(stored):
    stored["head.bias"].data += 0.02


@pytest.mark.parametrize(
    ("kind", "change", "node", "causes"),
    [
        ("int8", wrong_row, "mm_1", {"weight", "quantization"}),
        ("int8", turned, "mm_1", {"weight", "quantization"}),
        ("int8", moved_bias, "add__1", {"weight"}),
        ("int4", wrong_row, "linear_1", {"weight", "quantization"}),
        ("int4", shifted, "linear_1", {"weight", "quantization"}),
        ("int4", turned, "linear_1", {"weight", "quantization"}),
        ("int4", moved_bias, "linear_2", {"weight"}),
        ("int8 dynamic", turned, "_int_mm_1", {"weight", "quantization"}),
        ("int8 dynamic, int4", turned, "linear_1", {"weight", "quantization"}),
    ],
)
def test_a_fault_beside_it_is_found(reference, tmp_path, kind, change, node, causes):
    report = checked(reference, torchao_networks.changed(kind, change), tmp_path)
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].node == node
    assert report.findings[0].cause in causes


@pytest.mark.parametrize("kind", ["int8", "int4", "int2"])
def test_a_fault_that_the_loss_hides_is_found(reference, tmp_path, kind):
    report = checked(reference, torchao_networks.quantized(kind, epsilon=1e-2), tmp_path)
    assert report.verdict is Verdict.DIVERGENT
    found = report.findings[0]
    assert (found.node, found.cause) == ("layer_norm", "attribute")
