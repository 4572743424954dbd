"""Does the model still follow the length of its input?

The folklore: if the exported file runs, its axes are dynamic.

Measured: a length that was stored as a number is right for the input it was exported with, and
for no other. At that length the two files are equivalent, so a test with the example proves
nothing. At another one isomorph puts in what the reference computes, and the node is right:
shape.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

FREE = """net (float[N,6] x) => (float[6] y) { n = Shape <start=0, end=1> (x)
    s = Slice (x, zero, n, zero)  m = ReduceMean <keepdims=0> (s, zero)  y = Tanh (m) }"""
STUCK = """net (float[N,6] x) => (float[6] y) {
    s = Slice (x, zero, three, zero)  m = ReduceMean <keepdims=0> (s, zero)  y = Tanh (m) }"""


def main() -> Facts:
    draw = np.random.default_rng(0)
    stored = {"zero": np.array([0]), "three": np.array([3])}
    with TemporaryDirectory() as name:
        free = written(Path(name) / "free.onnx", FREE, zero=stored["zero"])
        stuck = written(Path(name) / "stuck.onnx", STUCK, **stored)
        reports = {
            length: isomorph.check(
                free,
                stuck,
                inputs={"x": draw.normal(size=(length, 6)).astype(np.float32)},
                in_process=True,
            )
            for length in (3, 5)
        }
    facts: Facts = {f"length {length}": first_finding(report) for length, report in reports.items()}
    facts["in words"] = reports[5].findings[0].statement.cause
    return facts


if __name__ == "__main__":
    show(main())
