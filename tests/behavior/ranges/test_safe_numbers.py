"""What is called safe is a finite number within its bound, in float64 and in a run of the type."""

import numpy as np
import onnx
import pytest
import torch

import isomorph
from isomorph.api.environment import open_model
from isomorph.bounds import boxes
from isomorph.bounds.model_ranges import model_ranges
from isomorph.core.ranges import OpenReason, RangeStatus
from nan_graphs import NanGraphMaker, draws, stored_run

LOWEST = [-3.0, -1.0, 0.0, 0.5, -1e3, -1e30]
WIDTHS = [0.1, 1.0, 4.0, 1e4, 2e30]


def unsafe(path, seed):
    """Tensors of a random graph that are called safe, and are not: by which run, and how."""
    onnx.save(NanGraphMaker(seed).model(6), path)
    random = np.random.default_rng([seed, 1])
    low = float(random.choice(LOWEST))
    high = low + float(random.choice(WIDTHS))
    target = [None, "float16", "bfloat16"][seed % 3]
    wrong = []
    with open_model(str(path), in_process=True) as (handle, _):
        found = model_ranges(
            handle, [], {"x": (low, high)}, {}, to=target, seed=0, bounds_only=True
        )
        safe = [each for each in found.tensors if each.status is RangeStatus.SAFE and each.node]
        for x in draws(random, low, high, 6):
            with np.errstate(all="ignore"):
                oracle = handle.oracle().run({"x": x}, [each.name for each in safe])
            for run in (oracle, stored_run(handle, {"x": x}, target)):
                for each in safe:
                    value = np.asarray(run[each.name], np.float64)
                    if not ((value >= each.lower) & (value <= each.upper)).all():
                        wrong.append((seed, each.name, each.op, each.lower, each.upper, value))
    return wrong


@pytest.mark.parametrize("seed", range(24))
def test_what_is_safe_is_a_number_within_its_bound(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(boxes, "SPLIT_ELEMENTS", 0)
    assert unsafe(tmp_path / "m.onnx", seed) == []


def test_a_lost_nan_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(boxes, "SPLIT_ELEMENTS", 0)
    monkeypatch.setattr(
        "isomorph.bounds.transformers.may_give_nan", lambda _, results: [False] * len(results)
    )
    assert any(unsafe(tmp_path / "m.onnx", seed) for seed in range(60))


def test_a_run_that_stores_infinities_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(boxes, "SPLIT_ELEMENTS", 0)
    monkeypatch.setattr(boxes, "_all_fit", lambda *_: True)
    assert any(unsafe(tmp_path / "m.onnx", seed) for seed in range(60))


def ranges_of(tmp_path, body, low, high, to=None):
    """The ranges of the nodes of a text with input x of two rows of three."""
    text = (
        '<ir_version: 9, opset_import: ["": 18]>\n'
        f"g (float[2,3] x) => (float[2,3] y) {body}"
    )  # fmt: skip
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    return isomorph.ranges(tmp_path / "m.onnx", ranges={"x": (low, high)}, to=to, in_process=True)


CONSTANTS = "<float zero = {0.0}, float large = {1e30}, float[3] hidden = {0.0, -inf, -inf}, float[2,3] all = {0.0, -inf, 0.0, -inf, -inf, -inf}, float half = {0.5}>"  # noqa: E501
UNSAFE = {
    "root": ("r = Sqrt (x) y = Tanh (r)", -1.0, 1.0),
    "logarithm": ("r = Log (x) y = Sigmoid (r)", -1.0, 1.0),
    "clip of a root": ("r = Sqrt (x) low = Neg (half) y = Clip (r, low, half)", -1.0, 1.0),
    "selection": ("r = Sqrt (x) y = Where (c, r, x) c = Less (x, half)", -1.0, 1.0),
    "0 / 0": ("r = Div (x, x) y = Tanh (r)", -1.0, 1.0),
    "0 · ∞": ("e = Exp (x) i = Mul (e, large) r = Mul (i, zero) y = Tanh (r)", 0.0, 80.0),
    "∞ - ∞": ("e = Exp (x) n = Exp (x) r = Sub (e, n) y = Sin (r)", 0.0, 100.0),
    "∞ / ∞": ("e = Exp (x) n = Add (e, half) r = Div (e, n) y = Sigmoid (r)", 0.0, 100.0),
    "negative base": ("r = Pow (x, half) y = Tanh (r)", -1.0, 1.0),
    "softmax of an infinity": ("e = Exp (x) y = Softmax <axis = 1> (e)", 0.0, 100.0),
    "hidden row": ("s = Add (x, all) y = Softmax <axis = 1> (s)", -1.0, 1.0),
    "normalization": ("e = Exp (x) y = LayerNormalization (e, half)", 0.0, 100.0),
    "sine of an infinity": ("e = Exp (x) y = Sin (e)", 0.0, 100.0),
    "sum of squares": ("r = Mul (x, large) y = LayerNormalization (r, half)", -1.0, 1.0),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_may_be_nan_is_open(tmp_path, name):
    body, low, high = UNSAFE[name]
    body = body.replace("y = Where (c, r, x) c = Less (x, half)",
                        "c = Less (x, half) y = Where (c, r, x)")  # fmt: skip
    found = ranges_of(tmp_path, f"{CONSTANTS} {{ {body} }}", low, high)
    last = found.tensors[-1]
    assert (last.name, last.status) == ("y", RangeStatus.OPEN)
    assert found.exit_code != 0


SAFE = {
    "tangent of an infinity": ("e = Exp (x) y = Tanh (e)", 0.0, 100.0),
    "tangent of a pole": ("r = Reciprocal (x) y = Tanh (r)", -1.0, 1.0),
    "hidden keys": ("s = Add (x, hidden) y = Softmax <axis = 1> (s)", -1.0, 1.0),
    "root": ("r = Sqrt (x) y = Tanh (r)", 0.0, 1.0),
    "difference to itself": ("r = Sub (x, x) y = Tanh (r)", -1.0, 1.0),
}


@pytest.mark.parametrize("name", SAFE)
def test_what_cannot_be_nan_is_safe(tmp_path, name):
    body, low, high = SAFE[name]
    last = ranges_of(tmp_path, f"{CONSTANTS} {{ {body} }}", low, high).tensors[-1]
    assert (last.name, last.status, last.reason) == ("y", RangeStatus.SAFE, None)


def test_nan_that_was_seen_is_the_reason(tmp_path):
    found = ranges_of(tmp_path, f"{CONSTANTS} {{ r = Sqrt (x) y = Tanh (r) }}", -1.0, 1.0)
    assert [each.reason for each in found.tensors[1:]] == [OpenReason.MEASURED_NAN] * 2


def test_what_a_run_computes_from_an_infinity_is_behind_an_overflow(tmp_path):
    # 1e5 is an infinity of float16, and its difference to another one is NaN.
    body = (
        "<float factor = {100.0}> { a = Mul (x, factor) b = Softmax <axis = 1> (a) y = Tanh (x) }"
    )
    found = ranges_of(tmp_path, body, -1000.0, 1000.0, to="float16")
    by_name = {each.name: each for each in found.tensors}
    assert by_name["a"].status is RangeStatus.OVERFLOW
    assert by_name["b"].reason is OpenReason.BEHIND_OVERFLOW
    assert by_name["y"].status is RangeStatus.SAFE
    assert (by_name["b"].lower, by_name["b"].upper) == pytest.approx((0.0, 1.0), abs=2e-3)


def test_a_bound_holds_where_an_infinity_gives_a_number_that_fits(tmp_path):
    # One over an infinity is zero, which no number of float16 gives.
    body = "<float factor = {100.0}> { a = Mul (x, factor) y = Reciprocal (a) }"
    last = ranges_of(tmp_path, body, 1.0, 1000.0, to="float16").tensors[-1]
    assert (last.name, last.status, last.lower) == ("y", RangeStatus.SAFE, 0.0)


def test_a_scale_that_a_narrow_type_rounds_is_within_the_bound(tmp_path):
    body = (
        "<float step = {1e-6}, int8 zero = {0}> "
        "{ q = QuantizeLinear (x, step, zero) y = DequantizeLinear (q, step, zero) }"
    )
    last = ranges_of(tmp_path, body, 1.0, 2.0, to="float16").tensors[-1]
    assert last.upper >= 127 * float(np.float16(1e-6)) > 127e-6 * 1.01


class Scaled(torch.nn.Module):
    """Numbers that a program states beside a tensor."""

    def forward(self, x):
        """A line, and a tangent of it."""
        return torch.tanh((x / 2.0 + 1.0) * 3.0 - 0.5)


def test_numbers_that_a_node_states_give_no_nan(tmp_path):
    program = torch.export.export(Scaled(), (torch.zeros(2, 3),))
    torch.export.save(program, tmp_path / "m.pt2")
    found = isomorph.ranges(tmp_path / "m.pt2", ranges={"x": (-1.0, 1.0)}, in_process=True)
    assert found.exit_code == 0


class Deviation(torch.nn.Module):
    """The variance of each row, between 0 and 1 if it is a number."""

    def forward(self, x):
        """A tangent of the variance, with the usual correction."""
        return torch.tanh(torch.var(x, dim=1))


@pytest.mark.parametrize(("columns", "status"), [(1, RangeStatus.OPEN), (2, RangeStatus.SAFE)])
def test_the_variance_of_a_single_element_is_no_number(tmp_path, columns, status):
    program = torch.export.export(Deviation(), (torch.zeros(2, columns),))
    torch.export.save(program, tmp_path / "m.pt2")
    found = isomorph.ranges(tmp_path / "m.pt2", ranges={"x": (-1.0, 1.0)}, in_process=True)
    assert found.tensors[-1].status is status
