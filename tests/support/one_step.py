"""One step of an evaluation that adds a little to its input, and rounds."""

from dataclasses import dataclass

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.step import Step
from isomorph.oracle.value import EvalValue

HALF = EvalValue(np.array([0.5]), dtype="float32")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adding(Step[str]):
    def call(self, inputs, site, *, constant):
        return Call(op=self.op, site=site, constant=constant, dtype="float32"), ("float32",)

    def compute(self, call, arrays):
        return (call.noise.rounded(arrays[0] + 1e-12),)


def rounding_step():
    """The step, and its call on data."""
    step = _Adding(index=0, name="a", op="Add", inputs=("x",), outputs=("y",), attributes={})
    return step, step.call([HALF], ("a",), constant=False)[0]
