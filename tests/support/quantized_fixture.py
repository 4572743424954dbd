"""Quantized networks, made once for all tests of the stages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).with_name("quantized_networks.py")


@pytest.fixture(scope="session")
def quantized_networks(tmp_path_factory):
    """A folder with net.onnx and its forms qdq, qop and dynamic."""
    folder = tmp_path_factory.mktemp("quantized")
    ran = subprocess.run(
        [sys.executable, str(_SCRIPT), str(folder)], capture_output=True, text=True,
        check=False, timeout=300, env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    return folder
