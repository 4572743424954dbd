"""Operands that a program writes as numbers, tables it computes, indices it stores: put back."""

import numpy as np
import pytest

import faulty
from faulty import attribute, bypassed, drawn, inputs, network, operator, weight
from isomorph import api

CUT = network(
    "g (float[2,4,9] x) => (float[2,4,6] y, float[2,4,1] z) {"
    " [part] s = Slice(x, start, end, axes) [table] t = Mul(s, far) [half] h = Div(t, two)"
    " [lift] u = Add(h, mask) [bend] y = Tanh(u)"
    " [size] z = ReduceL2<keepdims: int = 1>(y, last) }",
    start=np.array([1]), end=np.array([7]), axes=np.array([2]), last=np.array([2]),
    far=(2.0 ** np.arange(6) * np.pi / 8).astype(np.float32), two=np.float32(2),
    mask=np.triu(np.full((4, 6), -3.0, np.float32), 1),
)  # fmt: skip
PICKED = network(
    "g (float[6,8] x) => (float[6,8] y, float[6,8] n) {"
    " [pick] p = GatherElements<axis: int = 1>(x, places) [bend] y = Tanh(p)"
    " [norm] n = BatchNormalization(y, g1, b1, m1, v1) }",
    places=np.random.default_rng(4).permuted(np.tile(np.arange(8), (6, 1)), axis=1),
    g1=1 + 0.2 * drawn(8), b1=drawn(8, seed=1), m1=drawn(8, seed=2), v1=1 + drawn(8, seed=3) ** 2,
)  # fmt: skip

SCANNED = network(
    "g (float[5,3] x, int64[4] i) => (float[5,3] y, float[4,2] z) {"
    " [scan] last, y = Scan<num_scan_inputs: int = 1, body: graph = step"
    " (float[3] h, float[3] e) => (float[3] n, float[3] o) {"
    " a = Add(h, e) n = Tanh(a) o = Mul(n, gain) }>(start, x)"
    " [rows] r = Gather(small, i) [bend] z = Tanh(r) }",
    start=np.zeros(3, np.float32), gain=drawn(3), small=drawn(6, 2), large=drawn(9, 2, seed=1),
)  # fmt: skip

KEPT_BACK = network(
    "g (float[1,2,6,6] x) => (float[1,2,3,3] y) {"
    " [bend] b = Tanh(x) [times] t = Mul(b, three) [keep] k = Clip(t, low, high)"
    " [pool] p = MaxPool<kernel_shape: ints = [2,2], strides: ints = [2,2]>(k)"
    " [last] y = Exp(p) }",
    three=np.float32(3), low=np.float32(-0.5), high=np.float32(1.5),
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The first network, as PyTorch writes it: numbers in the program, tables computed."""
    torch = pytest.importorskip("torch")

    class Cut(torch.nn.Module):
        def forward(self, x):
            table = 2.0 ** torch.arange(6.0) * torch.pi / 8
            mask = torch.full((4, 6), -3.0).triu(1)
            y = torch.tanh(x[:, :, 1:7] * table / 2 + mask)
            return y, torch.linalg.vector_norm(y, dim=2, keepdim=True)

    path = tmp_path_factory.mktemp("cut") / "cut.pt2"
    torch.export.save(torch.export.export(Cut(), (torch.ones(2, 4, 9),)), path)
    return path


def moved(proto):
    for name, value in (("start", 2), ("end", 8)):
        weight(name, lambda old, value=value: np.full_like(old, value))(proto)


@pytest.mark.parametrize(
    "edit",
    [
        moved,
        bypassed("half"),
        weight("mask", lambda old: old / 2),
        operator("size", "ReduceL1"),
    ],
    ids=["slice", "number", "mask", "norm"],
)
def test_what_a_program_states_in_numbers_is_restored(program, tmp_path, edit):
    candidate = faulty.saved(tmp_path, "candidate", faulty.broken(CUT, edit))
    repair = api.fix(program, candidate, output=tmp_path / "fixed.onnx", in_process=True)
    assert repair.repaired, (repair.reason, repair.refused)
    assert len(repair.applied) == 1


def trained(proto):
    attribute("norm", "training_mode", 1)(proto)
    faulty.node_of(proto, "norm").output.extend(["running_mean", "running_var"])


def averaged(proto):
    faulty.node_of(proto, "pool").op_type = "AveragePool"


def in_the_body(change):
    """One thing changed inside the body of the scan."""

    def edit(proto):
        body = faulty.node_of(proto, "scan").attribute
        change(next(each.g for each in body if each.name == "body").node)

    return edit


def bent_otherwise(nodes):
    nodes[1].op_type = "Sigmoid"


def read_elsewhere(nodes):
    nodes[2].input[0] = "a"


def shared(proto):
    """Where it starts is 2, which it also reads as the axis."""
    faulty.node_of(proto, "part").input[1] = "axes"
    weight("end", lambda old: np.full_like(old, 8))(proto)


def another_number(nodes):
    nodes[2].input[1] = "start"  # which others read as well


FAULTS = {
    "number inside": (SCANNED, in_the_body(another_number)),
    "shared number": (CUT, shared),
    "inside": (SCANNED, in_the_body(bent_otherwise)),
    "operand inside": (SCANNED, in_the_body(read_elsewhere)),
    "clip": (KEPT_BACK, bypassed("keep")),
    "pool": (KEPT_BACK, averaged),
    "index": (PICKED, weight("places", lambda old: old[:, ::-1].copy())),
    "training": (PICKED, trained),
    "twice": (PICKED, inputs("norm", "y", "b1", "b1", "m1", "v1")),
    "backwards": (SCANNED, attribute("scan", "scan_input_directions", [1])),
    "table": (SCANNED, inputs("rows", "large", "i")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_stored_and_stated_is_put_right(tmp_path, name):
    proto, edit = FAULTS[name]
    reference = faulty.saved(tmp_path, "reference", proto)
    candidate = faulty.saved(tmp_path, "candidate", faulty.broken(proto, edit))
    given = {"x": drawn(5, 3), "i": np.array([3, 0, 5, 1])} if proto is SCANNED else None
    repair = api.fix(
        reference, candidate, output=tmp_path / "fixed.onnx", inputs=given, in_process=True
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert len(repair.applied) == 1
