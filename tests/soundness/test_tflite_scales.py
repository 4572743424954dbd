"""A scale of a weight of a TFLite file is part of the weight, whatever its integers are."""

import numpy as np
import pytest

import isomorph
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
