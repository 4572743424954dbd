"""Models that take long to make, made once and kept between runs."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).with_name("tflite_models.py")


@pytest.fixture(scope="session")
def converted(request):
    """A folder of TFLite models by TensorFlow's converter, made in a process of its own."""
    return kept_models(request, _SCRIPT, "tflite-models")


def kept_models(request, script, cache):
    """The folder of models that a script writes: made once, and kept between test runs."""
    recipe = hashlib.sha256(script.read_bytes()).hexdigest()[:16]
    folder = request.config.cache.mkdir(cache) / recipe
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
        try:
            ran = subprocess.run(
                [sys.executable, str(script), str(made)], capture_output=True, text=True,
                check=False, timeout=600, env={**os.environ, "PYTHONWARNINGS": "ignore"},
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr[-2000:]
            # Another process may have been faster: its folder is as good as ours.
            if not folder.exists():
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return folder
