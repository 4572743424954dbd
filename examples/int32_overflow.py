"""Do the integers still fit, after int64 became int32?

The folklore: indices and counts are small, so the narrower type does not matter.

Measured: a hash or a position times a stride leaves the range of int32, and wraps around without
a sound. isomorph does to the right values what int32 would do to them, and gets exactly the wrong
ones: dtype. Where the values stay small the same detour changes nothing, and there is no finding.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (int64[5] x) => (int64[5] y) {{ h = Mul (x, k)  {}  y = Neg ({}) }}"""


def main() -> Facts:
    stored = {"k": np.int64(1_000_003)}
    with TemporaryDirectory() as name:
        wide = written(Path(name) / "wide.onnx", MODEL.format("", "h"), **stored)
        narrow = written(
            Path(name) / "narrow.onnx",
            MODEL.format("c = Cast <to=6> (h)  d = Cast <to=7> (c)", "d"),
            **stored,
        )
        reports = {
            title: isomorph.check(wide, narrow, inputs={"x": np.arange(5) * step}, in_process=True)
            for title, step in (("up to 4e10", 10_000), ("up to 4e6", 1))
        }
    facts: Facts = {title: first_finding(report) for title, report in reports.items()}
    facts["in words"] = reports["up to 4e10"].findings[0].statement.cause
    return facts


if __name__ == "__main__":
    show(main())
