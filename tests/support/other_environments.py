"""Virtual environments of the tests' own Python and packages, changed where a test says so."""

import subprocess
import sys
import sysconfig
from pathlib import Path

CHANGED_RELEASE = """
import onnxruntime
onnxruntime.__version__ = {version!r}
_run = onnxruntime.InferenceSession.run
def run(self, *words, **named):
    return [each + {shift!r} for each in _run(self, *words, **named)]
onnxruntime.InferenceSession.run = run
"""
"""A release of ONNX Runtime that adds a number to every output."""

NOTED_START = """
import sys
with open({log!r}, "a") as file:
    file.write(sys.executable + " " + " ".join(sys.orig_argv[1:2]) + "\\n")
"""


def made_environment(folder, *, start="", packages=True):
    """A virtual environment; ``start`` is run by every process of its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    own = Path(subprocess.check_output(
        [str(folder / "bin" / "python"), "-c",
         "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip())  # fmt: skip
    if packages:
        packages_here = sysconfig.get_path("purelib")
        (own / "packages.pth").write_text(f"{packages_here}\n", encoding="utf-8")
    # An imported line of a .pth file runs at every start.
    (own / "at_start.py").write_text(start, encoding="utf-8")
    (own / "start.pth").write_text("import at_start\n", encoding="utf-8")
    return folder / "bin" / "python"


def started(log):
    """The interpreters that have been started, as they noted it."""
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []
