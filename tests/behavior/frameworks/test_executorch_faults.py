"""Faults planted in a module before ExecuTorch lowers it: found, at the node, with the cause."""

from __future__ import annotations

import numpy as np
import pytest

import isomorph
from executorch_programs import exported, lowered, quantized

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    """Convolutions, a normalization of either kind, activations with parameters, a softmax."""

    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8)
        self.c2, self.dw = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.ln, self.u, self.w = nn.LayerNorm(8, eps=1e-3), nn.Linear(8, 16), nn.Linear(16, 8)
        self.f = nn.Linear(8, 6)
        self.top, self.factor, self.axis, self.slope = 4.0, 0.5, -1, 0.1
        self.clamps = self.adds = True

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        y = self.c2(x)
        y = torch.clamp(y, -1.0, self.top) if self.clamps else y
        x = F.leaky_relu(self.dw(x + y if self.adds else y), self.slope)
        x = F.avg_pool2d(x, 2).flatten(2).transpose(1, 2)
        x = x + self.w(F.gelu(self.u(self.ln(x))))
        return self.f((torch.softmax(x * self.factor, self.axis) * 4 + x).mean(1))


def made(edit=None):
    torch.manual_seed(3)
    net = Net()
    net.b1.running_mean.normal_(0, 0.3)
    net.b1.running_var.uniform_(0.3, 2)
    net.b1.weight.data.uniform_(0.5, 1.5)
    net.c2.weight.data *= 6
    if edit is not None:
        edit(net)
    return net.eval()


def _set(**values):
    def edit(net):
        for name, value in values.items():
            setattr(net, name, value)

    return edit


def _weight(net):
    net.c2.weight.data[3, 2, 1, 1] *= -3


def _transposed(net):
    net.c2.weight.data = net.c2.weight.data.transpose(0, 1).contiguous()


def _flipped(net):
    net.dw.weight.data = net.dw.weight.data.flip(-1)


def _epsilon(net):
    net.ln.eps = 0.05


def _folded_epsilon(net):
    net.b1.eps = 0.1


def _bias(net):
    net.u.bias.data.zero_()


FAULTS = {
    # What is planted, a part of the node's name in either program, and its cause.
    "weight": (_weight, ("convolution:3", "Conv2d:2"), "weight"),
    "transposed": (_transposed, ("convolution:3", "Conv2d:2"), "layout"),
    "flipped": (_flipped, ("convolution:6", "DepthwiseConv2d:5"), "weight"),
    "bias": (_bias, ("addmm:12", "FullyConnected:0"), "weight"),
    "epsilon": (_epsilon, ("native_layer_norm", "native_layer_norm"), "attribute"),
    "clamp": (_set(top=0.7), ("clamp:4", "Clamp:3"), "attribute"),
    "factor": (_set(factor=0.7), ("mul:17", "Multiply:4"), "attribute"),
    "axis": (_set(axis=1), ("_softmax", "_softmax"), "attribute"),
    "slope": (_set(slope=0.3), ("leaky_relu:7", "LeakyReLU:6"), "attribute"),
}
X = torch.randn(2, 3, 12, 12, generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "net.pt2"
    torch.export.save(exported(made(), [X]), path)
    return path


def checked(reference, module, folder, *, xnnpack):
    path = folder / "net.pte"
    path.write_bytes(lowered(exported(module, [X]), xnnpack=xnnpack))
    return isomorph.check(reference, path, inputs={"x": X.numpy()}, in_process=True)


def named(report):
    return [each for each in report.findings if each.code == "GUILTY_NODE"]


@pytest.mark.parametrize("xnnpack", [False, True], ids=["portable", "xnnpack"])
def test_a_faithful_program_is_equivalent(reference, tmp_path, xnnpack):
    report = checked(reference, made(), tmp_path, xnnpack=xnnpack)
    assert report.verdict == "equivalent"
    assert not named(report)


@pytest.mark.parametrize("xnnpack", [False, True], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named(reference, tmp_path, fault, xnnpack):
    edit, nodes, cause = FAULTS[fault]
    report = checked(reference, made(edit), tmp_path, xnnpack=xnnpack)
    assert report.verdict == "divergent"
    first = named(report)[0]
    assert nodes[xnnpack] in first.node
    assert first.cause == cause


@pytest.mark.parametrize(
    ("edit", "node"),
    [
        (_set(clamps=False), ("add:4", "Add:3")),
        (_set(adds=False), ("convolution:5", "DepthwiseConv2d:4")),
        (_folded_epsilon, ("batch_norm", "Conv2d:1")),
    ],
    ids=["no clamp", "no sum", "folded epsilon"],
)
@pytest.mark.parametrize("xnnpack", [False, True], ids=["portable", "xnnpack"])
def test_the_node_behind_what_is_missing_or_folded_is_named(
    reference, tmp_path, edit, node, xnnpack
):
    report = checked(reference, made(edit), tmp_path, xnnpack=xnnpack)
    assert report.verdict == "divergent"
    assert node[xnnpack] in named(report)[0].node


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.f = nn.Conv2d(3, 8, 3, 1, 1), nn.Linear(8, 6)

    def forward(self, x):
        return self.f(F.relu(self.c(x)).mean((2, 3)))


def _spoiled(program, change):
    """The first pair of quantizers inside with another grid, on both of its sides."""
    graph = program.graph_module.graph
    nodes = [n for n in graph.nodes if "quantize_per_tensor" in str(n.target)]
    inner = next(
        n for n in nodes if n.args[0].op != "placeholder" and "dequant" not in str(n.target)
    )
    for node in (inner, *(user for user in inner.users if user in nodes)):
        scale, zero = change(*node.args[1:3])
        node.args = (node.args[0], scale, zero, *node.args[3:])
    program.graph_module.recompile()
    return program


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda scale, zero: (scale, zero), "degraded"),
        (lambda scale, zero: (scale * 0.2, zero), "divergent"),
        (lambda scale, zero: (scale * 40.0, zero), "divergent"),
        (lambda scale, zero: (scale, zero + 200), "divergent"),
    ],
    ids=["faithful", "fine scale", "coarse scale", "zero point"],
)
def test_a_wrong_grid_is_no_loss_of_eight_bits(tmp_path, change, verdict):
    torch.manual_seed(1)
    module, draw = Small().eval(), torch.Generator().manual_seed(2)
    samples = [(torch.randn(2, 3, 8, 8, generator=draw),) for _ in range(8)]
    torch.export.save(exported(module, samples[0]), tmp_path / "net.pt2")
    program = _spoiled(quantized(module, samples), change)
    (tmp_path / "net.pte").write_bytes(lowered(program, xnnpack=True))
    given = {"x": np.asarray(samples[0][0])}
    report = isomorph.check(
        tmp_path / "net.pt2", tmp_path / "net.pte", inputs=given, in_process=True
    )
    assert report.verdict == verdict
    if verdict == "divergent":
        found = [each for each in report.findings if each.node and "xnnpack_0" in each.node]
        assert found
        assert found[0].cause == "quantization"
