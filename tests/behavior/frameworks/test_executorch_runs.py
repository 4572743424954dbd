"""A kernel of ExecuTorch that is wrong in the run is named at its node."""

import numpy as np
import pytest

import isomorph
from executorch_programs import exported, lowered
from isomorph.core.report import Verdict

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


class Floored(torch.nn.Module):
    """ExecuTorch's floor of a quotient may not be whole (docs/defects), and is cut off behind."""

    def __init__(self):
        super().__init__()
        self.before, self.after = torch.nn.Linear(16, 64), torch.nn.Linear(64, 8)

    def forward(self, x, by):
        y = torch.sigmoid(self.before(x)) * 40.0
        return self.after(torch.div(y, by, rounding_mode="floor").to(torch.int32).float())


def test_a_wrong_kernel_is_named_at_its_node(tmp_path):
    torch.manual_seed(0)
    x, by = torch.randn(32, 16), torch.rand(32, 64) + 0.2
    program = exported(Floored(), [x, by])
    (tmp_path / "made.pte").write_bytes(lowered(program))
    torch.export.save(program, tmp_path / "model.pt2")
    np.savez(tmp_path / "inputs.npz", x=x.numpy(), by=by.numpy())
    report = isomorph.check(
        tmp_path / "model.pt2", tmp_path / "made.pte", inputs=tmp_path / "inputs.npz"
    )
    assert report.verdict is Verdict.DIVERGENT
    finding = report.findings[0]
    assert (finding.code, finding.node, finding.cause) == ("GUILTY_NODE", "div:4", "kernel")
