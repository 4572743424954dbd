"""Small conversions, made once per session: a faithful one and several that are not."""

import warnings

import numpy as np
import pytest


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """A residual CNN as .pt2, its ONNX export, and one set of inputs for both."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)

        def forward(self, x):
            return torch.relu(x + self.norm(self.conv(x)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 8, 3, padding=1)
            self.blocks = nn.Sequential(Block(8), Block(8))
            self.head = nn.Linear(8, 5)

        def forward(self, x):
            y = self.blocks(self.stem(x)).mean((2, 3))
            return self.head(y), torch.softmax(y, 1)

    torch.manual_seed(0)
    net = Net().train()
    with torch.no_grad():
        net(torch.randn(16, 3, 8, 8))  # running statistics that are not 0 and 1
    net.eval()
    folder = tmp_path_factory.mktemp("pair")
    x = torch.randn(2, 3, 8, 8)
    program = torch.export.export(net, (x,))
    torch.export.save(program, folder / "net.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.onnx.export(
            program, dynamo=True, verbose=False, optimize=False, input_names=["x"],
            output_names=["logits", "probs"],
        )  # fmt: skip
    exported.save(folder / "net.onnx")
    np.savez(folder / "inputs.npz", x=x.numpy())
    return folder
