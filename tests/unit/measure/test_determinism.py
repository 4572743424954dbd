from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, Node
from isomorph.measure.determinism import Unsteady, unsteady
from isomorph.measure.spread import Spread

ONE = np.ones(8, np.float32)
ROUNDING = {"y": Spread(draws=10, deviation=np.full(8, 1e-7), unsettled=np.zeros(8, bool))}
FAILED = RuntimeFailedError("RUNTIME_FAILED", "no")


def _subject(again, *, op="Relu", rounding=ROUNDING, once=ONE):
    node = Node(name="n", op=op, native_op=op, inputs=("x",), outputs=("y",))
    graph = Graph(name="g", inputs=(), outputs=(), nodes=(node,), tensors={}, constants={})
    runs = {"as_run": once, "again": again, "as_written": once, "as_written_again": again}
    values = {
        name: value if isinstance(value, Exception) else {"y": value}
        for name, value in runs.items()
    }
    return SimpleNamespace(
        model=SimpleNamespace(graph=graph),
        rounding=lambda: rounding,
        **{name: lambda value=value: value for name, value in values.items()},
    )


@pytest.mark.parametrize(
    ("subject", "seen"),
    [
        (_subject(ONE.copy()), Unsteady()),
        (_subject(ONE + np.float32(1.2e-7)), Unsteady(trembling=("y",))),
        (_subject(ONE + np.float32(1e-3)), Unsteady(random=("y",))),
        (_subject(ONE[:4]), Unsteady(random=("y",))),
        (_subject(ONE + np.float32(1.2e-7), rounding=FAILED), Unsteady(random=("y",))),
        (_subject(ONE + np.float32(1.2e-7), op="RandomNormalLike"), Unsteady(random=("y",))),
        (_subject(FAILED), Unsteady()),
        (_subject(ONE, once=FAILED), Unsteady()),
    ],
)
def test_another_order_of_adding_up_is_no_random_number(subject, seen):
    assert unsteady(subject) == seen
