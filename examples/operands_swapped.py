"""Which of two operands comes first, after a layout was changed?

The folklore: a converter that transposes tensors keeps track of everything else.

Measured: exchanged operands of a subtraction or of a matrix product give numbers of the right
size and sign pattern, or its mirror. isomorph exchanges them back in the oracle, and the node is
right: layout. A sum, where the order does not matter, is left alone.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[4,4] x) => (float[4,4] y) {{ a = Exp (x)  h = {} ({})  y = Tanh (h) }}"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    facts: Facts = {}
    with TemporaryDirectory() as name:
        for op in ("Sub", "MatMul", "Add"):
            models = [
                written(Path(name) / f"{op}{place}.onnx", MODEL.format(op, operands))
                for place, operands in enumerate(("a, x", "x, a"))
            ]
            facts[op] = first_finding(isomorph.check(*models, inputs={"x": x}, in_process=True))
    return facts


if __name__ == "__main__":
    show(main())
