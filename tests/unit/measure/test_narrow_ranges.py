"""One quantizer alone that clips far more than an ideal one loses."""

from types import SimpleNamespace

import pytest

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.core.quantized_tensor import QuantizedTensor
from isomorph.measure import narrow_ranges


def _node(name, source):
    return Node(
        name=f"make {name}", op="QuantizeLinear", native_op="QuantizeLinear",
        inputs=(source,), outputs=(name,),
    )  # fmt: skip


GRAPH = Graph(
    name="g",
    tensors={},
    constants={},
    inputs=(TensorSpec(name="x", dtype="float32", shape=(1,)),),
    outputs=(TensorSpec(name="c", dtype="uint8", shape=(1,)),),
    nodes=(_node("h", "x"), _node("a", "h"), _node("b", "a"), _node("c", "b"), _node("d", "h")),
)


def _row(tensor, clipped=0.0, lost=0.0, scale=1.0):
    return QuantizedTensor(
        tensor=tensor, dtype="uint8", kind="activation", channels=1, scale=(scale, scale),
        zero_point=(0, 0), node=f"make {tensor}", clipped=clipped, sqnr_db=40.0 - lost,
        ideal_sqnr_db=40.0,
    )  # fmt: skip


@pytest.fixture
def found(monkeypatch):
    """Ask about rows, with this gain of the quantizer that is in doubt."""

    def ask(rows, gain=0.6):
        writers = {row.tensor: row.tensor for row in rows}
        monkeypatch.setattr(narrow_ranges, "Audit", lambda *_: SimpleNamespace(writers=writers))
        monkeypatch.setattr(
            narrow_ranges, "gain_together", lambda _, __, tensors: tried.append(tensors) or gain
        )
        model = SimpleNamespace(model=SimpleNamespace(graph=GRAPH))
        row = narrow_ranges.narrow_range(rows, model, model, ())
        return None if row is None else row.tensor

    tried = ask.tried = []
    return ask


def test_the_only_quantizer_that_clips_is_found(found):
    assert found([_row("a", 0.05, 22.0), _row("b"), _row("d")]) == "a"
    follows = [_row("a", 0.05, 22.0), _row("b", 0.02, 5.0), _row("c", scale=2.0)]
    assert found(follows) == "a", "what follows clips along"
    assert found.tried == [["a", "b"], ["a", "b"]], "those with the same grid stay in float too"


def test_rare_outliers_and_small_losses_are_no_narrow_range(found):
    assert found([_row("a", 0.004, 22.0)]) is None
    assert found([_row("a", 0.05, 14.0)]) is None
    assert found([_row("a", 0.05, 22.0)], gain=0.2) is None
    assert found([_row("a", 0.05, 22.0)], gain=None) is None


def test_larger_data_is_no_narrow_range(found):
    """Then other quantizers clip as well, or that of the input does."""
    assert found([_row("a", 0.05, 22.0), _row("d", 0.02, 5.0)]) is None
    assert found([_row("h", 0.05, 22.0)]) is None
