"""The command under watch, and a small model of PyTorch."""

import subprocess
import sys

import pytest

from watching import PATIENCE, Command


@pytest.fixture
def isomorph(tmp_path):
    return Command(tmp_path)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A small .pt2, made in a process of its own so that this one stays free of torch."""
    path = tmp_path_factory.mktemp("exported") / "small.pt2"
    subprocess.run([sys.executable, "-c", _EXPORT, str(path)], check=True, timeout=PATIENCE)
    return path


_EXPORT = """
import sys, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()).eval()
torch.export.save(torch.export.export(net, (torch.randn(2, 4),)), sys.argv[1])
"""
