"""A program that runs a model with ONNX Runtime and NumPy, and nothing of isomorph."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.frameworks.onnx.ort_settings import as_code

_PROGRAM = '''"""Run the model on the inputs beside it and compare with the outputs of others."""

import glob
import os

import numpy as np
import onnxruntime

here = os.path.dirname(os.path.abspath(__file__))
path = os.path.join(here, {model!r})
{session}
names = [each.name for each in session.get_outputs()]
print("onnxruntime", onnxruntime.__version__)
for file in sorted(glob.glob(os.path.join(here, "inputs*.npz"))):
    feeds = dict(np.load(file))
    outputs = dict(zip(names, session.run(names, feeds)))
    sample = os.path.basename(file)[len("inputs"):-len(".npz")]
    kept = f"outputs{{sample}}-of-{{onnxruntime.__version__}}.npz"
    for other in sorted(glob.glob(os.path.join(here, f"outputs{{sample}}-of-*.npz"))):
        known, before = os.path.basename(other), np.load(other)
        for name in names if known != kept else ():
            ours, theirs = np.asarray(outputs[name]), before[name]
            if ours.shape != theirs.shape:
                print(f"{{known}}: {{name}}: shapes {{ours.shape}} and {{theirs.shape}}")
            elif ours.dtype.kind in "fiub":
                apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
                largest = apart.max() if apart.size else 0.0
                print(f"{{known}}: {{name}}: largest difference {{largest:g}}")
    np.savez(os.path.join(here, kept), **outputs)
'''


def program_source(model: str, settings: Mapping[str, str]) -> str:
    """The source; ``settings`` are the words of ``--set`` that differ from the defaults."""
    return _PROGRAM.format(model=model, session="\n".join(as_code(settings)))
