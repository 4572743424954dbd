"""Is the kernel of one operator wrong, or the model around it?

The folklore: if the outputs differ, bisect the model by hand.

Measured: the largest of a row that holds NaN is NaN. ONNX Runtime's ReduceMax drops a NaN that
does not come first. isomorph runs the node alone, every optimizer off, fed with the oracle's
values: it is still off, so nothing around it is the cause: kernel. Without a NaN the same file is
equivalent.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[3,4] x) => (float[3] y) {
    m = ReduceMax <keepdims=0> (x, axes)  y = Neg (m) }"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    spoiled = x.copy()
    spoiled[1, 2] = np.nan
    with TemporaryDirectory() as name:
        model = written(Path(name) / "model.onnx", MODEL, axes=np.array([1]))
        reports = {
            title: isomorph.check(model, inputs={"x": fed}, in_process=True)
            for title, fed in (("with a NaN", spoiled), ("without", x))
        }
    facts: Facts = {title: first_finding(report) for title, report in reports.items()}
    asked = reports["with a NaN"].findings[0].experiments
    facts["asked"] = [each.question for each in asked]
    return facts


if __name__ == "__main__":
    show(main())
