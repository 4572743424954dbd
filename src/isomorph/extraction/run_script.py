"""Run a written script in a process of its own: only one that shows the fault is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from isomorph.core.messages import message

SECONDS = 300.0
"""Of wall time, for frameworks that are imported on a busy machine and run one node."""


def why_not(script: Path) -> str:
    """Why the script does not show the fault; empty where it does."""
    folder = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, script.name],
            cwd=script.parent,
            env=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return message("EXTRACT.late", seconds=SECONDS)
    if done.returncode == 0:
        return ""
    text = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if done.returncode == 1 and not any(line.startswith("Traceback") for line in text):
        return message("EXTRACT.agree")
    return text[-1] if text else message("EXTRACT.ended", code=done.returncode)
