"""Whether a model means to our oracle what it means to OpenVINO."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.trace import Environment, Noise

ov = pytest.importorskip("openvino")
from openvino import opset15 as op  # noqa: E402


def parameter(value, name="x"):
    value = np.asarray(value)
    return op.parameter(list(value.shape), value.dtype.type, name=name)


def both(make, inputs, folder):
    """What OpenVINO and our oracle give for the outputs of ``make(*parameters)``."""
    inputs = [np.asarray(value) for value in inputs]
    names = [f"in{place}" for place in range(len(inputs))]
    ports = [parameter(value, name) for value, name in zip(inputs, names, strict=True)]
    made = make(*ports)
    outputs = made if isinstance(made, list) else list(made.outputs())
    path = folder / "model.xml"
    ov.save_model(ov.Model(outputs, ports, "one"), path, compress_to_fp16=False)
    model = registry.framework("openvino").load(str(path), {})
    fetch = [spec.name for spec in model.graph.outputs]
    session = opened(model)
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ran = compiled(inputs)
    feeds = dict(zip([spec.name for spec in model.graph.inputs], inputs, strict=True))
    meant = session.run(feeds, fetch)
    drawn = session.run(feeds, fetch, noise=Noise(seed=1, rounding=True))
    actual = [np.array(ran[output]) for output in compiled.outputs]
    return actual, [meant[name] for name in fetch], [drawn[name] for name in fetch]


def opened(model, runtime="openvino_oracle"):
    extension = registry.runtime(runtime)
    settings = dict(extension.settings)
    if "precision" in settings:
        settings["precision"] = "f32"
    return extension.open(model, Environment(runtime=runtime, settings=settings))


def agrees(make, inputs, folder):
    """Assert that both give the same numbers, and the noise no others of another size."""
    actual, meant, drawn = both(make, inputs, folder)
    assert len(actual) == len(meant) > 0
    for ran, exact, moved in zip(actual, meant, drawn, strict=True):
        assert ran.shape == exact.shape == moved.shape
        if ran.dtype.kind == "f":
            size = max(float(np.abs(exact).max(initial=0.0)), 1e-3)
            assert np.allclose(ran, exact, rtol=0, atol=3e-6 * size)
            assert np.allclose(moved, exact, rtol=0, atol=1e-4 * size)
        else:
            assert np.array_equal(ran, exact)
    return meant
