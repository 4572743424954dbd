"""Every edge operator of the oracle gives what ExecuTorch's own kernels give."""

from __future__ import annotations

import numpy as np
import pytest

from executorch_programs import exported, lowered
from isomorph import registry
from isomorph.core.trace import Environment, Noise

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
F = torch.nn.functional

RNG = np.random.default_rng(3)


def t(*shape, low=-2.0, high=2.0):
    return torch.tensor(RNG.uniform(low, high, shape).astype(np.float32))


X, Y, P = t(2, 4, 6, 6), t(2, 4, 6, 6), t(2, 4, 6, 6, low=0.2, high=1.5)
M, N = t(2, 5, 6), t(2, 6, 3)
ROW = t(3, 6)
W, B = t(5, 6), t(5)
K, KB = t(8, 2, 3, 3), t(8)
UP = t(4, 3, 3, 3)
FOUR, FOUR2 = t(4, low=0.5, high=1.5), t(4)
PLACES = torch.tensor([[0, 3, 1], [2, 2, 0]])
WHOLE = torch.tensor([[5, -3, 7], [2, 4, -1]], dtype=torch.int32)

ARITHMETIC = {
    "conv": lambda x, y, p, i: F.conv2d(x, K, KB, stride=2, padding=1, groups=2),
    "conv1d": lambda x, y, p, i: F.conv1d(x[:, :, 0], t(3, 4, 3), padding=1, dilation=1),
    "conv_transpose": lambda x, y, p, i: F.conv_transpose2d(
        x, UP, stride=2, padding=1, output_padding=1
    ),
    "linear": lambda x, y, p, i: F.linear(x, W, B),
    "addmm": lambda x, y, p, i: torch.addmm(t(6), x[0, 0], y[0, 0], beta=0.5, alpha=2.0),
    "bmm": lambda x, y, p, i: torch.bmm(x[0], y[0]),
    "mm": lambda x, y, p, i: torch.mm(x[0, 0], y[0, 0]),
    "batch_norm": lambda x, y, p, i: F.batch_norm(x, FOUR2, FOUR, FOUR, FOUR2, eps=1e-3),
    "layer_norm": lambda x, y, p, i: F.layer_norm(x, (6,), t(6), t(6), eps=1e-4),
    "layer_norm_bare": lambda x, y, p, i: F.layer_norm(x, (6, 6)),
    "group_norm": lambda x, y, p, i: F.group_norm(x, 2, FOUR, FOUR2),
    "add_alpha": lambda x, y, p, i: torch.add(x, y, alpha=0.3),
    "sub_alpha": lambda x, y, p, i: torch.sub(x, y, alpha=2),
    "rsub": lambda x, y, p, i: 1.5 - x,
    "mul_number": lambda x, y, p, i: x * 0.7,
    "div": lambda x, y, p, i: x / p,
    "div_floor": lambda x, y, p, i: torch.div(x, p, rounding_mode="floor"),
    "div_trunc": lambda x, y, p, i: torch.div(x, 0.3, rounding_mode="trunc"),
    "div_integers": lambda x, y, p, i: i / 2,
    "floor_integers": lambda x, y, p, i: i // 2,
    "remainder": lambda x, y, p, i: torch.remainder(x, 0.7),
    "fmod": lambda x, y, p, i: torch.fmod(x, 0.7),
    "square": lambda x, y, p, i: x**2,
    "power": lambda x, y, p, i: p**y,
    "base": lambda x, y, p, i: 2.0**x,
    "maximum": lambda x, y, p, i: torch.maximum(x, y),
    "minimum": lambda x, y, p, i: torch.minimum(x, y),
    "compare": lambda x, y, p, i: (x > y, x >= 0.5, x < y, x <= 0.1, x == y, x != y),
    "logic": lambda x, y, p, i: ((x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0), i ^ 3, i & 6),
    "unary": lambda x, y, p, i: (x.abs(), x.ceil(), x.floor(), x.round(), x.neg(), x.sign()),
    "trigonometry": lambda x, y, p, i: (x.sin(), x.cos(), x.tan(), x.atan(), x.sinh(), x.cosh()),
    "roots": lambda x, y, p, i: (p.sqrt(), p.rsqrt(), p.log(), p.reciprocal(), p.log1p()),
    "exponentials": lambda x, y, p, i: (x.exp(), x.expm1(), x.erf(), x.tanh(), x.sigmoid()),
    "logarithms": lambda x, y, p, i: (p.log10(), p.log2(), x.trunc(), torch.atan2(x, y)),
    "gelu": lambda x, y, p, i: (F.gelu(x), F.gelu(x, approximate="tanh")),
    "elu": lambda x, y, p, i: (F.elu(x, 0.7), F.selu(x), F.celu(x, 1.3)),
    "leaky": lambda x, y, p, i: (F.leaky_relu(x, 0.2), F.relu(x), F.relu6(3 * x)),
    "hard": lambda x, y, p, i: (F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x, -0.5, 0.7)),
    "clamp": lambda x, y, p, i: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=p)),
    "silu": lambda x, y, p, i: (F.silu(x), F.glu(x, 1), F.softplus(x), F.mish(x)),
    "softmax": lambda x, y, p, i: (x.softmax(-1), x.log_softmax(1)),
    "mean": lambda x, y, p, i: (x.mean((2, 3)), x.mean(1, keepdim=True), x.sum(0), x.sum()),
    "extremes": lambda x, y, p, i: (x.amax(1), x.amin((1, 2)), *x.max(2), x.min(), x.any(1)),
    "variance": lambda x, y, p, i: (x.var(1), x.var((2, 3), correction=0), x.std(1)),
    "product": lambda x, y, p, i: p.prod(1),
    "places": lambda x, y, p, i: (x.argmax(1), x.argmin(), x.argmax(2, keepdim=True)),
    "cumsum": lambda x, y, p, i: (x.cumsum(1), i.cumsum(1)),
    "topk": lambda x, y, p, i: x.topk(2, dim=1),
    "attention": lambda x, y, p, i: F.scaled_dot_product_attention(x, y, p),
    "einsum": lambda x, y, p, i: torch.einsum("bchw,bchv->bcwv", x, y),
    "norm": lambda x, y, p, i: (x.norm(dim=1), F.normalize(x, dim=1), x.logsumexp(1)),
}
MOVEMENT = {
    "avg_pool": lambda x, y, p, i: F.avg_pool2d(x, 3, 2, 1),
    "avg_pool_bare": lambda x, y, p, i: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg_pool_ceil": lambda x, y, p, i: F.avg_pool2d(x, 3, 2, ceil_mode=True),
    "avg_pool_divisor": lambda x, y, p, i: F.avg_pool2d(x, 2, 2, divisor_override=3),
    "max_pool": lambda x, y, p, i: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "adaptive": lambda x, y, p, i: F.adaptive_avg_pool2d(x, (4, 3)),
    "bilinear": lambda x, y, p, i: F.interpolate(x, (9, 11), mode="bilinear"),
    "bilinear_corners": lambda x, y, p, i: F.interpolate(
        x, scale_factor=1.5, mode="bilinear", align_corners=True
    ),
    "nearest": lambda x, y, p, i: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "shuffle": lambda x, y, p, i: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 3)),
    "cat": lambda x, y, p, i: (torch.cat([x, y], 1), torch.stack([x, y], 2)),
    "split": lambda x, y, p, i: (*x.split(4, 2), *x.split([1, 3], 1), *x.unbind(0)),
    "permute": lambda x, y, p, i: (
        x.permute(0, 2, 3, 1),
        x.transpose(1, -1),
        W.t() + 0 * x[0, 0, 0, 0],
    ),
    "view": lambda x, y, p, i: (x.reshape(2, -1), x.unsqueeze(1), x[:1].squeeze(0)),
    "expand": lambda x, y, p, i: (x[:, :1].expand(-1, 4, -1, -1), x.repeat(1, 2, 1, 1)),
    "slice": lambda x, y, p, i: (x[:, 1:3], x[..., ::2], x[:, -1], x.narrow(2, 1, 3)),
    "scatter": lambda x, y, p, i: (
        x.slice_scatter(y[:, :2], 1, 1, 3),
        x.select_scatter(y[:, 0], 1, 2),
    ),
    "flip": lambda x, y, p, i: (x.flip(2), x.roll(1, 3), x.roll((1, 2), (1, 2))),
    "pad": lambda x, y, p, i: F.pad(x, (1, 2, 0, 1), value=0.5),
    "pad_own": lambda x, y, p, i: (
        F.pad(x, (1, 2, 1, 1), mode="reflect"),
        F.pad(x, (1, 2, 1, 1), mode="replicate"),
    ),
    "cast": lambda x, y, p, i: (x.to(torch.int32), i.to(torch.float32), (x > 0).to(torch.float32)),
    "where": lambda x, y, p, i: (torch.where(x > y, x, y), x.masked_fill(y > 0, -1.5)),
    "triangle": lambda x, y, p, i: (x.tril(), x.tril(-1), x.triu(1)),
    "look_up": lambda x, y, p, i: (
        F.embedding(PLACES, W),
        x.index_select(1, PLACES[0]),
        x[:, PLACES],
        x.gather(1, PLACES.reshape(2, 3, 1, 1)),
    ),
    "write": lambda x, y, p, i: (
        x[0].index_put((PLACES[0],), y[0, :3]),
        x[0].scatter_add(0, PLACES[:, :, None].expand(2, 3, 6), y[0, :2, :3]),
    ),
    "make": lambda x, y, p, i: (
        torch.full((2, 3), 0.25) + x[0, 0, 0, 0],
        torch.arange(0, 6, 2) + i[0, 0],
        torch.ones_like(x) * 2,
        torch.zeros(3) + x[0, 0, 0, 0],
    ),
}

GRID = t(2, 3, 5, 2, low=-1.2, high=1.2)
SAMPLING = {
    "grid": lambda x, y, p, i: (
        F.grid_sample(x, GRID, align_corners=False),
        F.grid_sample(x, GRID, mode="nearest", padding_mode="border", align_corners=True),
        F.grid_sample(x, GRID, padding_mode="reflection", align_corners=False),
    ),
    "smooth_resize": lambda x, y, p, i: F.interpolate(x, (3, 4), mode="bilinear", antialias=True),
    "instance_norm": lambda x, y, p, i: (F.instance_norm(x), F.instance_norm(p, eps=1e-2)),
    "scatter_elements": lambda x, y, p, i: (
        x[0].scatter(0, PLACES[:, :, None].expand(2, 3, 6), y[0]),
        x[0].scatter(1, PLACES[:, :, None].expand(2, 3, 6), 7.0),
    ),
    # Of two axes or more ExecuTorch's numbers are in another order (docs/defects).
    "places": lambda x, y, p, i: torch.nonzero(i[0] > 0),
    "diagonal": lambda x, y, p, i: (torch.diagonal(x, 1, 2, 3), torch.diagonal(x)),
}


def flat(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


class Many(torch.nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x, y, p, i):
        found = [each for f in self.functions.values() for each in flat(f(x, y, p, i))]
        return tuple(found)


def loaded(data):
    return registry.framework("executorch").load(data, {})


def opened(model, name):
    return registry.runtime(name).open(model, Environment(runtime=name))


GROUPS = {"arithmetic": ARITHMETIC, "movement": MOVEMENT, "sampling": SAMPLING}


@pytest.fixture(scope="module", params=GROUPS)
def runs(request):
    functions = GROUPS[request.param]
    inputs = (X, Y, P, WHOLE)
    model = loaded(lowered(exported(Many(functions), inputs)))
    feeds = {spec.name: each.numpy() for spec, each in zip(model.graph.inputs, inputs, strict=True)}
    names = [spec.name for spec in model.graph.outputs]
    run = opened(model, "executorch").run(feeds, names)
    oracle = opened(model, "executorch_oracle")
    return functions, inputs, model, feeds, names, run, oracle


def test_the_oracle_computes_what_the_kernels_compute(runs):
    functions, inputs, _model, feeds, names, run, oracle = runs
    exact = oracle.run(feeds, names)
    owners = [word for word, f in functions.items() for _ in flat(f(*inputs))]
    assert len(owners) == len(names)
    wrong = [
        (word, name)
        for word, name in zip(owners, names, strict=True)
        if exact[name].shape != run[name].shape
        or not np.allclose(exact[name], run[name], rtol=2e-5, atol=2e-5)
    ]
    assert wrong == []


def test_integers_and_truth_values_have_their_declared_types(runs):
    _, _, _model, feeds, names, run, oracle = runs
    exact = oracle.run(feeds, names)
    kinds = [(exact[name].dtype.kind == "f") == (run[name].dtype.kind == "f") for name in names]
    assert all(kinds)


def test_noise_is_of_the_size_of_rounding(runs):
    _, _, _model, feeds, names, run, oracle = runs
    exact = oracle.run(feeds, names)
    draws = [oracle.run(feeds, names, noise=Noise(seed=n, rounding=True)) for n in range(4)]
    floats = [name for name in names if exact[name].dtype.kind == "f"]
    moved = {
        n: max(np.max(np.abs(exact[n] - each[n]), initial=0.0) for each in draws) for n in floats
    }
    seen = [name for name in floats if moved[name] > 0]
    assert len(seen) >= 5
    assert np.median([moved[name] for name in seen]) < 1e-5
    missed = {n: np.max(np.abs(exact[n] - run[n])) for n in seen}
    assert all(missed[name] <= 3.0 * moved[name] for name in seen)


def test_an_unknown_operator_with_two_results_is_refused_by_its_name():
    """It was reported as a value that nothing computes."""
    from isomorph.core.errors import UnreadableModelError

    class Sorted(torch.nn.Module):
        def forward(self, x):
            return torch.sort(x, -1).values + 1.0

    model = loaded(lowered(exported(Sorted(), (X,))))
    with pytest.raises(UnreadableModelError, match=r"aten\.sort\.values") as caught:
        opened(model, "executorch_oracle")
    assert caught.value.code == "UNSUPPORTED_OP"
