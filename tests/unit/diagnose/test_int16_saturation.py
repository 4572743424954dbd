"""Products of bytes that stop at 16 bits, played by a stand-in and seen on this processor."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import isomorph
from isomorph import registry
from isomorph.core.model import Node
from isomorph.diagnose.int16_saturation import Grid, emulated, lost, taken_away
from isomorph.frameworks.onnx.runtime import OnnxRuntime

DRAW = np.random.default_rng(7)
BYTES = DRAW.integers(120, 256, (3, 9)).astype(np.uint8)
SIGNED = DRAW.integers(60, 128, (9, 4)).astype(np.int8)


def slowly(a, b):
    """One instruction at a time, in Python's own integers."""
    sums = np.zeros((len(a), b.shape[1]), np.int64)
    for i, row in enumerate(a):
        for j, column in enumerate(b.T):
            products = [int(p) * int(q) for p, q in zip(row, column, strict=True)]
            for k in range(0, len(products), 2):
                sums[i, j] += max(-32768, min(32767, sum(products[k : k + 2])))
    return sums


def node(op, names, **attributes):
    return Node(
        name=op, op=op, native_op=op, inputs=names, outputs=("y",), attributes=attributes
    )  # fmt: skip


def of(op, *operands, **attributes):
    fed = {f"i{k}": each for k, each in enumerate(operands) if each is not None}
    names = tuple(f"i{k}" if f"i{k}" in fed else "" for k in range(len(operands)))
    return emulated(node(op, names, **attributes), fed.get)


def scale(value):
    return np.float32(value)[None]


def test_what_is_lost_is_what_the_instruction_loses():
    exact = BYTES.astype(np.int64) @ SIGNED.astype(np.int64)
    assert np.array_equal(exact + lost(BYTES, SIGNED), slowly(BYTES, SIGNED))
    assert not np.array_equal(exact, slowly(BYTES, SIGNED))


def test_zero_points_are_taken_off_afterwards():
    zeros = np.uint8([100])[0][None], np.int8([3])
    found = of("MatMulInteger", BYTES, SIGNED, *zeros)
    rows, columns = BYTES.astype(np.int64).sum(1), SIGNED.astype(np.int64).sum(0)
    corrected = slowly(BYTES, SIGNED) - 3 * rows[:, None] - 100 * columns + 9 * 300
    assert np.array_equal(found.saturated, corrected)
    assert found.explains(corrected.astype(np.int32))
    assert not found.explains(found.exact.astype(np.int32))
    assert not found.explains((corrected + 1).astype(np.int32))


def test_reals_and_grids_are_reached_from_the_same_sums():
    real = of("MatMulIntegerToFloat", BYTES, SIGNED, scale(0.5), scale(0.25))
    assert np.array_equal(real.saturated, slowly(BYTES, SIGNED) * 0.125)
    zero_a, zero_b, zero_y = np.uint8([0]), np.int8([0]), np.uint8([7])
    grid = (scale(0.5), zero_a), (scale(0.25), zero_b), (scale(200.0), zero_y)
    linear = of("QLinearMatMul", BYTES, *grid[0], SIGNED, *grid[1], *grid[2])
    expected = np.clip(np.rint(slowly(BYTES, SIGNED) * 0.125 / 200.0) + 7, 0, 255)
    assert np.array_equal(linear.saturated, expected)
    gemm = of(
        "QGemm", BYTES, *grid[0], SIGNED.T.copy(), *grid[1], None, *grid[2], transB=1
    )  # fmt: skip
    assert np.array_equal(gemm.saturated, expected)


def test_a_convolution_adds_neighboring_channels_of_one_place():
    x = DRAW.integers(100, 256, (1, 4, 5, 5)).astype(np.uint8)
    w = DRAW.integers(60, 128, (6, 2, 3, 3)).astype(np.int8)
    zero = np.uint8([9]), np.int8([0]), np.uint8([0])
    found = of(
        "QLinearConv", x, scale(0.5), zero[0], w, scale(0.25), zero[1], scale(500.0), zero[2],
        pads=[1, 1, 1, 1], strides=[2, 2], group=2,
    )  # fmt: skip
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=9)
    expected = np.zeros((1, 6, 3, 3))
    for m in range(6):
        own = wide[0, 2 * (m // 3) : 2 * (m // 3) + 2]
        column = w[m].transpose(1, 2, 0).reshape(-1, 1)
        for i in range(3):
            for j in range(3):
                seen = own[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
                row = seen.transpose(1, 2, 0).reshape(1, -1)
                expected[0, m, i, j] = slowly(row, column)[0, 0] - 9 * int(column.sum(dtype=int))
    assert np.array_equal(found.saturated, np.clip(np.rint(expected * 0.125 / 500.0), 0, 255))


@pytest.mark.parametrize(
    ("a", "b"),
    [(BYTES, (SIGNED // 2).astype(np.int8)), (BYTES.astype(np.int8), SIGNED),
     (BYTES, SIGNED.astype(np.uint8))],
)  # fmt: skip
def test_seven_bits_and_other_types_are_none_of_its_business(a, b):
    assert of("MatMulInteger", a, b) is None


NET = """<ir_version: 8, opset_import: ["" : 17]>
net (float[3,9] x) => (float[3,4] y) {
    a = QuantizeLinear (x, sa, za)
    [product] c = QLinearMatMul (a, sa, za, w, sw, zw, sy, zy)
    y = DequantizeLinear (c, sy, zy)
}"""


class Old(OnnxRuntime):
    """A processor of any kind: the product is computed as stated."""

    def __init__(self, fault):
        self._fault = fault

    def open(self, model, environment):
        session = super().open(model, environment)
        stored = model.graph.constants
        read = {name for each in model.graph.nodes for name in each.inputs if name in stored}
        signed = any(stored[name].dtype == "int8" for name in read)
        return Off(session, self._fault) if signed else session


class Off:
    def __init__(self, session, fault):
        self._session, self._fault = session, fault
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds, fetch, *, noise=None):
        if not {"x", "a"} & set(feeds) or "c" in feeds:
            return self._session.run(feeds, fetch)
        # What the CPU makes of the product plays no part.
        product = self._fault(self._session.run(feeds, ["a"])["a"])
        return self._session.run({**feeds, "c": product}, fetch)

    def close(self):
        self._session.close()


def on_grid(sums):
    return np.clip(np.rint(sums * 0.125 / 200.0), 0, 255).astype(np.uint8)


def saturating(a):
    return on_grid(slowly(a, SIGNED))


def exact(a):
    return on_grid(a.astype(np.int64) @ SIGNED.astype(np.int64))


def reversing(a):
    return exact(a)[:, ::-1].copy()


FLOAT = """<ir_version: 8, opset_import: ["" : 17]>
net (float[3,9] x) => (float[3,4] y) { y = MatMul (x, w) }"""


def saved(path, text, **constants):
    proto = onnx.parser.parse_model(text)
    for name, value in constants.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.save(proto, path)
    return path


def checked(tmp_path, *names):
    """The signed net, the same one with unsigned weights, or the float one they were made of."""
    grids = {
        "sa": np.float32(0.5), "za": np.uint8(0), "sw": np.float32(0.25),
        "sy": np.float32(200.0), "zy": np.uint8(0),
    }  # fmt: skip
    unsigned = (SIGNED.astype(np.int16) + 128).astype(np.uint8)
    saved(tmp_path / "signed.onnx", NET, **grids, w=SIGNED, zw=np.int8(0))
    saved(tmp_path / "unsigned.onnx", NET, **grids, w=unsigned, zw=np.uint8(128))
    saved(tmp_path / "float.onnx", FLOAT, w=SIGNED * np.float32(0.25))
    x = BYTES.astype(np.float32) * 0.5
    files = [tmp_path / f"{name}.onnx" for name in names or ("signed",)]
    return isomorph.check(*files, inputs={"x": x}, in_process=True)


def played(product, tmp_path, monkeypatch, *names):
    usual, stand_in = registry.runtime, Old(product)
    monkeypatch.setattr(
        registry, "runtime", lambda name: stand_in if name == "onnxruntime" else usual(name)
    )
    return checked(tmp_path, *names)


def explained(report, code="GUILTY_NODE"):
    found = report.findings[0]
    assert found.code == code
    assert (found.node, found.cause) == ("product", "kernel")
    assert "saturate at 16 bits" in found.summary
    experiment = next(each for each in found.experiments if "saturate" in each.question)
    assert experiment.agrees
    assert "matches the run" in experiment.predicts
    assert "7 bits" in found.fix
    assert any("16 bits" in each for each in found.evidence["known_issues"])
    return True


def test_a_run_that_saturates_is_explained(tmp_path, monkeypatch):
    report = played(saturating, tmp_path, monkeypatch)
    assert report.verdict == "divergent"
    assert explained(report)


def test_a_run_that_does_not_is_right(tmp_path, monkeypatch):
    assert played(exact, tmp_path, monkeypatch).verdict == "equivalent"


def test_the_run_on_this_cpu(tmp_path, saturates):
    """Nothing is played: the CPU decides which of the two it is."""
    report = checked(tmp_path)
    assert report.verdict == ("divergent" if saturates else "equivalent")
    assert not saturates or explained(report)


def test_of_a_pair_the_run_is_named_where_it_saturates(tmp_path, monkeypatch):
    report = played(saturating, tmp_path, monkeypatch, "float", "signed")
    assert report.verdict == "divergent"
    assert explained(report)


def test_of_a_pair_nothing_is_named_where_it_does_not(tmp_path, monkeypatch):
    report = played(exact, tmp_path, monkeypatch, "float", "signed")
    assert report.verdict == "degraded"
    assert not any(each.node for each in report.findings)


def test_a_reference_whose_own_run_saturates_is_named(tmp_path, monkeypatch):
    report = played(saturating, tmp_path, monkeypatch, "signed", "unsigned")
    assert report.verdict == "unknown"
    assert explained(report, "REFERENCE_NODE")
    assert report.findings[0].summary.startswith("in the reference's own run, ")


@pytest.mark.parametrize(("names", "wrong"), [(("float", "signed"), "divergent"),
                                              (("float", "unsigned"), "degraded"),
                                              (("signed", "unsigned"), "unknown")])  # fmt: skip
def test_pairs_on_this_cpu(tmp_path, saturates, names, wrong):
    right = "equivalent" if names[0] == "signed" else "degraded"
    assert checked(tmp_path, *names).verdict == (wrong if saturates else right)


BETWEEN_QUANTIZERS = """<ir_version: 8, opset_import: ["" : 17]>
net (float[{shape}] x) => (float[{result}] y) {{
    q = QuantizeLinear (x, sa, za)
    a = DequantizeLinear (q, sa, za)
    b = DequantizeLinear (w, sw, zw)
    [product] p = {product}
    r = QuantizeLinear (p, sy, zy)
    y = DequantizeLinear (r, sy, zy)
}}"""
IMAGE = np.tile(BYTES[0, :4, None, None], (1, 1, 5, 5)).astype(np.float32) * 0.5
KERNEL = np.tile(SIGNED[:6, :4, None, None], (1, 1, 3, 3))
FORMS = {
    "MatMul": ("3,9", "3,4", "MatMul (a, b)", BYTES * np.float32(0.5), SIGNED),
    "Gemm": ("3,9", "3,4", "Gemm <transB=1> (a, b)", BYTES * np.float32(0.5), SIGNED.T.copy()),
    "Conv": ("1,4,5,5", "1,6,3,3", "Conv (a, b)", IMAGE, KERNEL),
}


@pytest.mark.parametrize("zero", [np.uint8(0), np.int8(-128)], ids=["uint8", "int8"])
@pytest.mark.parametrize("op", FORMS)
def test_products_that_are_fused_between_quantizers(tmp_path, saturates, op, zero):
    """Fetched, their tensors are right: only the whole run shows what the fused ones do."""
    shape, result, product, x, w = FORMS[op]
    text = BETWEEN_QUANTIZERS.format(shape=shape, result=result, product=product)
    model = saved(
        tmp_path / "net.onnx", text, sa=np.float32(0.5), za=zero, w=w, sw=np.float32(0.25),
        zw=np.int8(0), sy=np.float32(w.size * 20.0), zy=zero,
    )  # fmt: skip
    report = isomorph.check(model, inputs={"x": x}, in_process=True)
    assert report.verdict == ("divergent" if saturates else "equivalent")
    saturated = [each for each in report.findings if "saturate at 16 bits" in each.summary]
    assert [(each.node, each.cause, each.status) for each in saturated] == (
        [("product", "kernel", "confirmed")] * saturates
    )


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_what_is_taken_from_dequantized_numbers(kind):
    lowest = np.iinfo(kind).min
    data = Grid(
        whole=(BYTES.astype(int) + lowest).astype(kind), scale=scale(0.5), zero=np.asarray([lowest])
    )
    weight = Grid(whole=SIGNED, scale=scale(0.25), zero=None)
    gone = taken_away("MatMul", data, weight, {})
    assert np.array_equal(gone, lost(BYTES, SIGNED) * 0.125)
    turned = Grid(whole=SIGNED.T.copy(), scale=scale(0.25), zero=None)
    assert np.array_equal(taken_away("Gemm", data, turned, {"transB": 1, "alpha": 2.0}), 2 * gone)
    narrow = Grid(whole=(SIGNED // 2).astype(np.int8), scale=scale(0.25), zero=None)
    assert taken_away("MatMul", data, narrow, {}) is None


def test_weights_that_saturate_are_stored_unsigned(tmp_path, monkeypatch):
    played(saturating, tmp_path, monkeypatch, "float", "signed")
    pair = tmp_path / "float.onnx", tmp_path / "signed.onnx"
    given = {"x": BYTES.astype(np.float32) * 0.5}
    repair = isomorph.fix(*pair, output=tmp_path / "fixed.onnx", inputs=given, in_process=True)
    assert repair.repaired, repair.reason
    (applied,) = repair.applied
    assert applied.patch.summary.startswith("store signed weights as unsigned")
    same = isomorph.check(pair[1], tmp_path / "fixed.onnx", inputs=given, in_process=True)
    (output,) = same.outputs
    assert output.rounding.distance.differing == 0  # what it means did not change by a bit


@pytest.mark.parametrize("op", FORMS)
def test_fused_products_are_repaired_on_this_cpu(tmp_path, saturates, op):
    shape, result, product, x, w = FORMS[op]
    text = BETWEEN_QUANTIZERS.format(shape=shape, result=result, product=product)
    grids = {
        "sa": np.float32(0.5), "za": np.uint8(0), "sw": np.float32(0.25),
        "sy": np.float32(w.size * 20.0), "zy": np.uint8(0),
    }  # fmt: skip
    unsigned = (w.astype(np.int16) + 128).astype(np.uint8)
    right = saved(tmp_path / "right.onnx", text, **grids, w=unsigned, zw=np.uint8(128))
    signed = saved(tmp_path / "signed.onnx", text, **grids, w=w, zw=np.int8(0))
    repair = isomorph.fix(
        right, signed, output=tmp_path / "fixed.onnx", inputs={"x": x}, in_process=True
    )
    assert repair.repaired, repair.reason
    assert len(repair.applied) == saturates


def test_another_fault_of_the_same_kernel_is_not(tmp_path, monkeypatch):
    found = played(reversing, tmp_path, monkeypatch).findings[0]
    assert (found.node, found.cause) == ("product", "kernel")
    assert "saturate" not in found.summary
    assert not any("saturate" in each.question for each in found.experiments)
