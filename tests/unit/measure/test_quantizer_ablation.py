"""What one quantizer costs at the outputs, by the same model with its tensor in float."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.limits import KEPT_IN_FLOAT, KEPT_IN_FLOAT_WEIGHTS
from isomorph.core.model import Constant, Graph, Node, Quantization
from isomorph.core.quantized_tensor import QuantizedTensor
from isomorph.measure.quantizer_ablation import with_gains

RIGHT = np.array([3.0, 4.0])
OUTPUTS = [
    Divergence(
        reference_output="y", candidate_output="z", dtype="float32", shape=(2,),
        verdict=Verdict.DEGRADED, reason="",
    )
]  # fmt: skip


def row(tensor, **more):
    return QuantizedTensor(
        tensor=tensor, dtype="int8", kind="activation", channels=1, scale=(1.0, 1.0),
        zero_point=(0, 0), **more,
    )  # fmt: skip


def grid(tensor):
    return Quantization(tensor=tensor, dtype="int8", scale=(0.5,), zero_point=(0,))


class Oracle:
    """Each tensor that stays quantized moves the output by its own error."""

    def __init__(self, **errors):
        self.errors, self.runs = errors, 0

    def run(self, feeds, fetch):
        self.runs += 1
        left = [error for name, error in self.errors.items() if f"{name}_back" not in feeds]
        return dict.fromkeys(fetch, RIGHT + sum(left, np.zeros(2)))


def audit(oracle, *tensors, reference=RIGHT, weights=0):
    readers = [
        Node(
            name=f"read_{each}", op="DequantizeLinear", native_op="DequantizeLinear",
            inputs=(each, "s"), outputs=(f"{each}_back",),
        )
        for each in tensors
    ]  # fmt: skip
    constants = {}
    if weights:
        constants["w"] = Constant(
            name="w", dtype="int8", shape=(weights,), digest="", value_digest=""
        )
    graph = Graph(
        name="g", inputs=(), outputs=(), nodes=tuple(readers), tensors={}, constants=constants
    )
    entries = tuple(map(grid, tensors))
    known = None
    if reference is not None:
        found = reference if isinstance(reference, Exception) else {"y": reference}
        known = SimpleNamespace(oracle_outputs=lambda: found)
    return SimpleNamespace(
        graph=graph,
        entries=entries,
        writers={each.tensor: each for each in entries},
        reference=known,
        candidate=SimpleNamespace(oracle=lambda: oracle, feeds={}, handle=None),
        unrounded=lambda entry: np.zeros(2),
    )


def gains(found, *rows):
    return [each.gain for each in with_gains(rows, found, OUTPUTS)]


def test_the_gain_is_the_share_of_the_error_that_goes():
    oracle = Oracle(a=np.array([0.3, 0.0]), b=np.array([0.1, 0.0]))
    assert gains(audit(oracle, "a", "b"), row("a"), row("b")) == pytest.approx([0.75, 0.25])


def test_a_quantizer_that_made_up_for_another_has_a_gain_below_zero():
    oracle = Oracle(a=np.array([0.3, 0.0]), b=np.array([-0.1, 0.0]))
    first, second = gains(audit(oracle, "a", "b"), row("a"), row("b"))
    assert first == pytest.approx(0.5)
    assert second == pytest.approx(-0.5)


def test_without_an_error_nothing_is_tried():
    oracle = Oracle()
    assert gains(audit(oracle, "a"), row("a")) == [None]
    assert oracle.runs == 1


@pytest.mark.parametrize("reference", [None, RuntimeFailedError("X", "broken"), np.zeros(3)])
def test_without_a_reference_to_compare_with_nothing_is_measured(reference):
    oracle = Oracle(a=np.array([0.3, 0.0]))
    assert gains(audit(oracle, "a", reference=reference), row("a")) == [None]


def test_a_row_of_another_tensor_or_of_a_misreading_is_left_alone():
    oracle = Oracle(a=np.array([0.3, 0.0]))
    found = gains(audit(oracle, "a"), row("other"), row("a", misread=("scale",)))
    assert found == [None, None]
    assert oracle.runs == 1


def test_a_tensor_that_nothing_reads_is_not_measured():
    made = audit(Oracle(a=np.array([0.3, 0.0])), "a")
    made.graph = Graph(name="g", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
    assert gains(made, row("a")) == [None]


def test_of_a_large_model_only_the_first_rows_are_measured():
    least, _ = KEPT_IN_FLOAT
    names = [f"t{place}" for place in range(least + 2)]
    oracle = Oracle(**dict.fromkeys(names, np.array([0.1, 0.0])))
    large = audit(oracle, *names, weights=KEPT_IN_FLOAT_WEIGHTS)
    found = gains(large, *map(row, names))
    assert [each is not None for each in found] == [True] * least + [False, False]
