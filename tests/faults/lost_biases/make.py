"""Makes the pair in this folder: an LSTM as litert-torch writes it, and what tf2onnx makes of it.

Run it where litert-torch 0.10.0 and tf2onnx 1.17.0 are installed: ``python make.py``. The
conversion ends without an error and has lost the biases of every FULLY_CONNECTED. With more than
one sample in the batch, or nn.LSTM in the place of nn.LSTMCell, these versions keep the biases or
refuse the file.
"""

import subprocess
import sys
from pathlib import Path

import litert_torch
import numpy as np
import torch

HERE = Path(__file__).parent


class Net(torch.nn.Module):
    """Four steps of a cell, and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = torch.nn.LSTMCell(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The head's view of the last state."""
        h, c = torch.zeros(x.shape[0], 8), torch.zeros(x.shape[0], 8)
        for step in range(x.shape[1]):
            h, c = self.rnn(x[:, step], (h, c))
        return self.head(h)


def main() -> None:
    """Write lstm.tflite, lstm.onnx and x.npz."""
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(1, 4, 6)
    litert_torch.convert(net, (x,)).export(str(HERE / "lstm.tflite"))
    np.savez(HERE / "x.npz", args_0=x.numpy(), expected=net(x).detach().numpy())
    # tf2onnx writes the path that it was given into the file.
    words = ["--tflite", "lstm.tflite", "--output", "lstm.onnx", "--opset", "17"]
    subprocess.run([sys.executable, "-m", "tf2onnx.convert", *words], check=True, cwd=HERE)


if __name__ == "__main__":
    main()
