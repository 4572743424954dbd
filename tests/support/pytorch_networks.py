"""Small networks that the tests of the PyTorch runtime and oracle share."""

import warnings

import numpy as np
import torch
from torch import nn

from isomorph.core.trace import Environment
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.oracle import PytorchOracle
from isomorph.frameworks.pytorch.runtime import PytorchRuntime


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True))
        self.head = nn.Linear(8, 5)
        for norm in (self.norm, self.body[1]):
            nn.init.uniform_(norm.running_mean, -0.3, 0.3)
            nn.init.uniform_(norm.running_var, 0.5, 2.0)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.norm(self.stem(x)))
        y = 0.7 * (y + self.body(y))
        return self.head(torch.nn.functional.avg_pool2d(y, 2).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind=nn.LSTM):
        super().__init__()
        self.embed = nn.Embedding(20, 12)
        self.rnn = kind(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 4)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return self.head(states).softmax(-1)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(32)

    def forward(self, x):
        places = torch.arange(x.shape[1], dtype=torch.float32)[:, None] / 10000 ** (
            torch.arange(0, 32, 2, dtype=torch.float32) / 32
        )
        table = torch.cat([places.sin(), places.cos()], -1)
        return self.norm(self.layer(x + table)).mean(1)


def exported(module, *example, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, example, strict=False, **options)


def load(module, *example, **options):
    """The module, exported in evaluation mode and described."""
    torch.manual_seed(0)
    return PytorchFramework().load(exported(module.eval(), *example, **options), {})


def runtime(model, **settings):
    return PytorchRuntime().open(model, Environment(runtime="pytorch", settings=settings))


def oracle(model, **settings):
    return PytorchOracle().open(model, Environment(runtime="pytorch_oracle", settings=settings))


def fetchable(model):
    return [name for node in model.graph.nodes for name in node.outputs]


def outputs(model):
    return [spec.name for spec in model.graph.outputs]


def rms(values):
    return float(np.sqrt(np.mean(np.square(np.asarray(values, np.float64)))))


def networks():
    """Name, module, example inputs."""
    torch.manual_seed(1)
    tokens = torch.randint(0, 20, (3, 9))
    return {
        "cnn": (Cnn(), (torch.randn(2, 3, 12, 12),)),
        "lstm": (Recurrent(), (tokens,)),
        "gru": (Recurrent(nn.GRU), (tokens,)),
        "rnn": (Recurrent(nn.RNN), (tokens,)),
        "transformer": (Transformer(), (torch.randn(2, 7, 32),)),
    }


def feeds_of(model, example):
    names = [spec.name for spec in model.graph.inputs]
    return {name: value.numpy() for name, value in zip(names, example, strict=True)}
