"""Quantized TFLite files: scales are part of the weights, and single numbers are found."""

import numpy as np
import pytest

import isomorph
from isomorph.localize import weight_effect
from isomorph.localize.output_effect import Effect
from tflite_building import Building

_BATCH, _IN, _HIDDEN, _OUT = 2, 24, 20, 5


def _layers(seed):
    """Two layers: integers, a scale for each channel and biases."""
    random = np.random.default_rng(seed)
    sizes = (_HIDDEN, _IN), (_OUT, _HIDDEN)
    made = []
    for shape in sizes:
        real = random.uniform(-0.5, 0.5, shape)
        scale = (np.abs(real).max(axis=1) / 127).astype(np.float32)
        bias = 0.2 * random.normal(size=shape[0])
        made.append([np.rint(real / scale[:, None]).astype(np.int8), scale, bias])
    return made


_GRIDS = ((0.03, -3), (0.05, -128), (0.04, 5))
"""Scale and zero point of the input, the hidden layer and the output."""


def _written(layers, *, full, grids=_GRIDS):
    """The layers with float data and integer weights, or with integers throughout."""
    model = Building()
    graph = model.graph()
    shapes = [(_BATCH, _IN), (_BATCH, _HIDDEN), (_BATCH, _OUT)]
    data = [
        graph.tensor(name, shape, "int8", scale=step, zero=zero)
        if full
        else graph.tensor(name, shape)
        for name, shape, (step, zero) in zip(("x", "h", "y"), shapes, grids, strict=True)
    ]
    for place, (integers, scale, bias) in enumerate(layers):
        kernel = graph.tensor(f"w{place}", integers.shape, "int8", value=integers, scale=scale)
        if full:
            steps = grids[place][0] * scale
            whole = np.rint(bias / steps)
            added = graph.tensor(f"b{place}", bias.shape, "int32", value=whole, scale=steps)
        else:
            added = graph.tensor(f"b{place}", bias.shape, value=bias)
        graph.op(
            "FULLY_CONNECTED", [data[place], kernel, added], [data[place + 1]], "FullyConnected",
            version=4 if full else 9, fusedActivationFunction=int(place == 0),
        )  # fmt: skip
    graph.ends([data[0]], [data[-1]])
    return model.data()


def _checked(folder, reference, candidate):
    paths = [folder / "reference.tflite", folder / "candidate.tflite"]
    for path, content in zip(paths, (reference, candidate), strict=True):
        path.write_bytes(content)
    return isomorph.check(*map(str, paths), in_process=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("full", [True, False], ids=["int8", "hybrid"])
def test_one_wrong_scale_of_a_channel_makes_another_function(tmp_path, full, seed):
    right = _written(_layers(seed), full=full)
    wrong = _layers(seed)
    layer = wrong[seed % 2]
    layer[1][seed % len(layer[1])] *= 1.1
    report = _checked(tmp_path, right, _written(wrong, full=full))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert f"w{seed % 2}" in report.reason or report.findings[0].node is not None


@pytest.mark.parametrize("full", [True, False], ids=["int8", "hybrid"])
def test_scales_rounded_once_more_are_the_same(tmp_path, full):
    rounded = _layers(1)
    for layer in rounded:
        layer[1] = np.nextafter(layer[1], np.float32(1))
    report = _checked(tmp_path, _written(_layers(1), full=full), _written(rounded, full=full))
    assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason


@pytest.mark.parametrize("seed", range(3, 8))
def test_another_grid_of_data_makes_another_function(tmp_path, seed):
    """Data beyond the smaller range is clipped, whether the generated inputs reach it or not."""
    layers = _layers(seed)
    for layer in layers:
        layer[1] *= np.float32(0.4)
    right = _written(layers, full=True)
    wrong = _written(layers, full=True, grids=(_GRIDS[0], (0.03, -128), _GRIDS[2]))
    report = _checked(tmp_path, right, wrong)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason


def _image_network(seed, *, hybrid, wrong=None, activation=1, size=0.4):
    """Two convolutions, with float weights or with eight bits; ``wrong`` is an int8 number."""
    random = np.random.default_rng(seed)
    model = Building()
    graph = model.graph()
    channels = (6, 12, 3)
    data = [graph.tensor(name, (1, 7, 7, n)) for name, n in zip("xhy", channels, strict=True)]
    for place in range(2):
        shape = (channels[place + 1], 3, 3, channels[place])
        real = size * random.normal(size=shape)
        bias = graph.tensor(f"b{place}", shape[:1], value=0.3 * random.normal(size=shape[0]))
        if hybrid:
            scale = (np.abs(real).max(axis=(1, 2, 3)) / 127).astype(np.float32)
            integers = np.rint(real / scale[:, None, None, None]).astype(np.int8)
            if wrong is not None and place == 0:
                integers[wrong] += np.int8(12 if integers[wrong] < 100 else -12)
            kernel = graph.tensor(f"w{place}", shape, "int8", value=integers, scale=scale)
        else:
            kernel = graph.tensor(f"w{place}", shape, value=real)
        graph.op(
            "CONV_2D", [data[place], kernel, bias], [data[place + 1]], "Conv2D", version=5,
            strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1,
            fusedActivationFunction=0 if place else activation,
        )  # fmt: skip
    graph.ends([data[0]], [data[-1]])
    return model.data()


@pytest.mark.parametrize("seed", range(3))
def test_one_wrong_integer_among_rounded_ones_is_found(tmp_path, seed):
    """The other weights move the outputs as well, and together as much as the wrong one."""
    random = np.random.default_rng(seed)
    place = tuple(int(random.integers(size)) for size in (12, 3, 3, 6))
    float_one = _image_network(seed, hybrid=False)
    report = _checked(tmp_path, float_one, _image_network(seed, hybrid=True, wrong=place))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    report = _checked(tmp_path, float_one, _image_network(seed, hybrid=True))
    assert report.verdict is isomorph.Verdict.DEGRADED, report.reason


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ([Effect.REFUTED], isomorph.Verdict.DIVERGENT),
        ([Effect.SHOWN, Effect.REFUTED, Effect.REFUTED], isomorph.Verdict.DIVERGENT),
        ([Effect.REFUTED, Effect.REFUTED], isomorph.Verdict.DEGRADED),
    ],
)
def test_one_input_refutes_no_wrong_integer_among_rounded_ones(
    tmp_path, monkeypatch, effects, verdict
):
    """Errors of the other weights are not independent, and point either way on a single input."""
    left = list(effects)
    monkeypatch.setattr(
        weight_effect, "nearer", lambda *_, **__: left.pop(0) if left else Effect.UNDECIDED
    )
    wrong = _image_network(3, hybrid=True, wrong=(0, 1, 1, 0))
    assert _checked(tmp_path, _image_network(3, hybrid=False), wrong).verdict is verdict
    assert not left


def _shifted(number):
    """A quantized constant of one number, far smaller than a step of the result."""
    model = Building()
    graph = model.graph()
    x, h = (graph.tensor(name, (2, 5), "int8", scale=0.05, zero=3) for name in "xh")
    y = graph.tensor("y", (2, 5), "int8", scale=1 / 256, zero=-128)
    added = graph.tensor("c", (), "int8", value=number, scale=1e-4)
    graph.op("ADD", [x, added], [h], "Add", version=2)
    graph.op("LOGISTIC", [h], [y], version=2)
    graph.ends([x], [y])
    return model.data()


@pytest.mark.parametrize(("number", "same"), [(127, True), (60, False)])
def test_a_quantized_constant_of_one_number_is_compared(tmp_path, number, same):
    report = _checked(tmp_path, _shifted(127), _shifted(number))
    assert (report.verdict is isomorph.Verdict.EQUIVALENT) is same, report.reason
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not same, report.reason


@pytest.mark.parametrize(("activation", "verdict"), [(1, "degraded"), (3, "divergent")])
def test_a_limit_that_small_inputs_do_not_reach_is_found_beside_rounding(
    tmp_path, activation, verdict
):
    """Without ranges of its own, a candidate of eight bits loses no more on larger inputs."""
    right = _image_network(5, hybrid=False, size=0.08)
    other = _image_network(5, hybrid=True, size=0.08, activation=activation)
    report = _checked(tmp_path, right, other)
    assert report.verdict == verdict, report.reason
