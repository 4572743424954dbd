import numpy as np
import pytest
import torch

from isomorph.api.environment import open_model


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(2, 3, 3)
        self.last = torch.nn.Linear(3, 2)

    def forward(self, x, ids):
        """A convolution, a cast, and a row that is selected."""
        y = torch.tanh(self.conv(x)).mean((2, 3)).to(torch.float32)
        return self.last(y)[ids]


@pytest.mark.parametrize("in_process", [True, False])
def test_gradients_are_those_of_finite_differences(tmp_path, in_process):
    random = np.random.default_rng(0)
    feeds = {"x": random.standard_normal((2, 2, 4, 4)), "ids": np.array([1, 0])}
    example = torch.from_numpy(feeds["x"]).float(), torch.from_numpy(feeds["ids"])
    torch.export.save(torch.export.export(Layers().eval(), example), tmp_path / "m.pt2")
    with open_model(str(tmp_path / "m.pt2"), in_process=in_process) as (handle, _):
        oracle, (output,) = handle.oracle(), handle.model.graph.outputs
        assert oracle.capabilities.gradients
        weight = random.standard_normal((2, 2))
        found = oracle.gradients(feeds, {output.name: weight})
        assert list(found) == ["x"]

        def total(x):
            return float((oracle.run({**feeds, "x": x}, [output.name])[output.name] * weight).sum())

        for place in (0, 13, 40):
            step = np.zeros(feeds["x"].size)
            step[place] = 1e-5
            step = step.reshape(feeds["x"].shape)
            slope = (total(feeds["x"] + step) - total(feeds["x"] - step)) / 2e-5
            assert np.asarray(found["x"]).reshape(-1)[place] == pytest.approx(slope, rel=1e-5)
