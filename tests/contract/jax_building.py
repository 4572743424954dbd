"""Exported functions of JAX for tests, small enough to be read."""

from __future__ import annotations

import numpy as np


def image(batch=2):
    return np.random.default_rng(1).normal(size=(batch, 6, 6, 3)).astype(np.float32)


def weights(seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"kernel": (3, 3, 3, 4), "bias": (4,), "recurrent": (4, 4), "head": (4, 5)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def network(x, own=None):
    """Convolution, two branches, a loop over time, a product and an integer output."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    own = weights() if own is None else own
    layout = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, own["kernel"], (1, 1), "SAME", dimension_numbers=layout)
    y = y + own["bias"]
    y = jax.nn.relu(y) * jax.nn.sigmoid(y)
    y = lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    rows = y.mean(2)

    def step(state, row):
        state = jnp.tanh(row + state @ own["recurrent"])
        return state, state

    last, _ = lax.scan(step, jnp.zeros_like(rows[:, 0]), rows.transpose(1, 0, 2))
    logits = last @ own["head"]
    return {"logits": jnp.tanh(logits), "place": logits.argmax(1)}


def export_of(function, *shapes, platforms=("cpu",)):
    """The exported function of float32 arrays of these shapes."""
    import jax
    from jax import export

    specs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    return export.export(jax.jit(function), platforms=platforms)(*specs)


def exported(function=network, *shapes):
    return bytes(export_of(function, *(shapes or ((2, 6, 6, 3),))).serialize())


def calling(name):
    """A function that calls a library by name."""
    import jax
    from jax import export

    function = jax.jit(
        lambda x: jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x + 1)
    )
    checks = [export.DisabledSafetyCheck.custom_call(name)]
    spec = jax.ShapeDtypeStruct((2,), np.float32)
    found = export.export(function, platforms=("cpu",), disabled_checks=checks)(spec)
    return bytes(found.serialize())
