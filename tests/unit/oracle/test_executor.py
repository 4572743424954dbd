from dataclasses import dataclass, field

import numpy as np
import pytest

from isomorph.oracle.arithmetic import RealArithmetic
from isomorph.oracle.call import Call
from isomorph.oracle.executor import Executor
from isomorph.oracle.step import Scope, Step
from isomorph.oracle.value import EvalValue

WEIGHT = EvalValue(np.arange(6.0).reshape(2, 3), constant=True)
OTHER = EvalValue(np.ones((2, 3)), constant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transposing(Step[str]):
    computed: list[np.ndarray] = field(default_factory=list)

    def call(self, inputs, site, *, constant):
        return Call(op=self.op, site=site, constant=constant), (inputs[0].dtype,)

    def compute(self, call, arrays):
        self.computed.append(arrays[0])
        return (arrays[0].T,)


def transposing(**facts):
    return Transposing(
        index=0, name="t", op="Transpose", inputs=("w",), outputs=("y",), attributes={}, **facts
    )


def in_rounds(step, weights):
    """Return what the step gives in each round of a loop."""
    executor = Executor(RealArithmetic())
    return [
        executor.step(step, lambda _, value=value: value, Scope().inside(trip))[0].data
        for trip, value in enumerate(weights)
    ]


def test_a_constant_is_moved_once_in_all_rounds_of_a_loop():
    step = transposing(exact=True)
    results = in_rounds(step, [WEIGHT] * 5)
    assert len(step.computed) == 1
    assert all(np.array_equal(each, WEIGHT.data.T) for each in results)


def test_another_constant_is_computed_anew():
    step = transposing(exact=True)
    results = in_rounds(step, [WEIGHT, OTHER, OTHER, WEIGHT])
    assert len(step.computed) == 3
    assert [float(each.sum()) for each in results] == [15.0, 6.0, 6.0, 15.0]


@pytest.mark.parametrize("facts", [{"exact": False}, {"exact": True, "random": True}])
def test_what_rounds_or_draws_is_computed_in_every_round(facts):
    step = transposing(**facts)
    in_rounds(step, [WEIGHT] * 3)
    assert len(step.computed) == 3


def test_data_are_computed_in_every_round():
    step = transposing(exact=True)
    in_rounds(step, [EvalValue(WEIGHT.data)] * 3)
    assert len(step.computed) == 3
