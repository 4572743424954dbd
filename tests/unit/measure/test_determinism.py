from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, Node
from isomorph.measure.determinism import NotRepeated, compare_repeated_runs
from isomorph.measure.spread import Spread

ONE = np.ones(8, np.float32)
ROUNDING = {"y": Spread(draws=10, deviation=np.full(8, 1e-7), unsettled=np.zeros(8, bool))}
FAILED = RuntimeFailedError("RUNTIME_FAILED", "no")


def _subject(again, *, op="Relu", rounding=ROUNDING, once=ONE):
    node = Node(name="n", op=op, native_op=op, inputs=("x",), outputs=("y",))
    graph = Graph(name="g", inputs=(), outputs=(), nodes=(node,), tensors={}, constants={})
    runs = {
        "runtime_outputs": once,
        "again": again,
        "unoptimized_outputs": once,
        "unoptimized_outputs_again": again,
    }
    values = {
        name: value if isinstance(value, Exception) else {"y": value}
        for name, value in runs.items()
    }
    return SimpleNamespace(
        model=SimpleNamespace(graph=graph),
        run_dtype="",
        rounding=lambda: rounding,
        **{name: lambda value=value: value for name, value in values.items()},
    )


@pytest.mark.parametrize(
    ("subject", "seen"),
    [
        (_subject(ONE.copy()), NotRepeated()),
        (_subject(ONE + np.float32(1.2e-7)), NotRepeated(rounding_only=("y",))),
        (_subject(ONE + np.float32(1e-3)), NotRepeated(random=("y",))),
        (_subject(ONE[:4]), NotRepeated(random=("y",))),
        (_subject(ONE + np.float32(1.2e-7), rounding=FAILED), NotRepeated(random=("y",))),
        (_subject(ONE + np.float32(1.2e-7), op="RandomNormalLike"), NotRepeated(random=("y",))),
        (_subject(FAILED), NotRepeated()),
        (_subject(ONE, once=FAILED), NotRepeated()),
    ],
)
def test_another_order_of_adding_up_is_no_random_number(subject, seen):
    assert compare_repeated_runs(subject) == seen
