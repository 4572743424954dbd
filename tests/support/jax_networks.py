"""Small networks of JAX with random weights, in the manner of known architectures."""

from __future__ import annotations

import math

import numpy as np

LAYOUT = ("NHWC", "HWIO", "NHWC")


class Weights:
    """Random weights by shape, the same for the same seed."""

    def __init__(self, seed=0):
        self._random = np.random.default_rng(seed)

    def __call__(self, *shape, scale=None):
        fan = math.prod(shape[:-1]) if len(shape) > 1 else 1
        scale = 1.0 / math.sqrt(fan) if scale is None else scale
        return (self._random.normal(size=shape) * scale).astype(np.float32)

    def positive(self, *shape):
        return self._random.uniform(0.5, 1.5, shape).astype(np.float32)


def mobilenet(seed=0, width=8):
    """Inverted residuals with hard swish, squeeze and excitation, as MobileNetV3."""
    import jax
    from jax import lax

    own = Weights(seed)

    def conv(inputs, outputs, size, stride=1, groups=1):
        kernel = own(size, size, inputs // groups, outputs)
        scale, shift = own.positive(outputs), own(outputs)
        mean, variance = own(outputs), own.positive(outputs)

        def apply(x):
            y = lax.conv_general_dilated(
                x, kernel, (stride, stride), "SAME", dimension_numbers=LAYOUT,
                feature_group_count=groups,
            )  # fmt: skip
            return (y - mean) * lax.rsqrt(variance + 1e-3) * scale + shift

        return apply

    def squeeze(channels):
        down, up = own(channels, channels // 2), own(channels // 2, channels)

        def apply(x):
            mean = x.mean((1, 2))
            return x * jax.nn.hard_sigmoid(jax.nn.relu(mean @ down) @ up)[:, None, None, :]

        return apply

    def block(inputs, outputs, stride):
        wide = 2 * inputs
        steps = conv(inputs, wide, 1), conv(wide, wide, 3, stride, wide), squeeze(wide)
        last = conv(wide, outputs, 1)

        def apply(x):
            y = jax.nn.hard_swish(steps[0](x))
            y = last(steps[2](jax.nn.hard_swish(steps[1](y))))
            return x + y if stride == 1 and inputs == outputs else y

        return apply

    stem = conv(3, width, 3, 2)
    blocks = [block(width, width, 1), block(width, 2 * width, 2), block(2 * width, 2 * width, 1)]
    head, bias = own(2 * width, 10), own(10)

    def network(image):
        x = jax.nn.hard_swish(stem(image))
        for each in blocks:
            x = each(x)
        return x.mean((1, 2)) @ head + bias

    return network, {"image": np.random.default_rng(7).normal(size=(1, 32, 32, 3))}


def encoder(own, size, heads, depth):
    """Blocks of attention and perceptron, normalized before each."""
    import jax
    import jax.numpy as jnp

    def norm():
        scale, shift = own.positive(size), own(size)

        def apply(x):
            mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * scale + shift

        return apply

    def block():
        parts = [own(size, heads, size // heads, scale=1 / math.sqrt(size)) for _ in range(3)]
        out, up, down = own(heads, size // heads, size), own(size, 4 * size), own(4 * size, size)
        first, second = norm(), norm()

        def apply(x, mask):
            y = first(x)
            q, k, v = (jnp.einsum("bts,shd->bhtd", y, part) for part in parts)
            scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(size // heads)
            if mask is not None:
                scores = jnp.where(mask[:, None, None, :], scores, -1e9)
            mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)
            x = x + jnp.einsum("bhtd,hds->bts", mixed, out)
            return x + jax.nn.gelu(second(x) @ up, approximate=False) @ down

        return apply

    blocks, last = [block() for _ in range(depth)], norm()

    def apply(x, mask=None):
        for each in blocks:
            x = each(x, mask)
        return last(x)

    return apply


def vit(seed=0, size=32):
    """Patches, a class token, positions and an encoder."""
    import jax.numpy as jnp
    from jax import lax

    own = Weights(seed)
    patches, token, places = own(8, 8, 3, size), own(1, 1, size), own(1, 17, size)
    body, head = encoder(own, size, 4, 2), own(size, 10)

    def network(image):
        x = lax.conv_general_dilated(image, patches, (8, 8), "VALID", dimension_numbers=LAYOUT)
        x = x.reshape(image.shape[0], -1, size)
        x = jnp.concatenate([jnp.broadcast_to(token, (x.shape[0], 1, size)), x], 1) + places
        return body(x)[:, 0] @ head

    return network, {"image": np.random.default_rng(7).normal(size=(1, 32, 32, 3))}


def bert(seed=0, size=32, words=50):
    """Embeddings of words and places, a mask, an encoder and a pooled output."""
    import jax.numpy as jnp

    own = Weights(seed)
    table, places = own(words, size, scale=1.0), own(12, size)
    body, pool = encoder(own, size, 4, 2), own(size, size)

    def network(tokens, mask):
        x = body(jnp.take(table, tokens, axis=0) + places, mask > 0)
        return {"pooled": jnp.tanh(x[:, 0] @ pool), "states": x}

    tokens = np.random.default_rng(7).integers(0, words, (2, 12)).astype(np.int32)
    mask = np.ones((2, 12), np.int32)
    mask[1, 8:] = 0
    return network, {"tokens": tokens, "mask": mask}


def lstm(seed=0, size=16):
    """Two layers over time, by ``lax.scan``."""
    import jax
    import jax.numpy as jnp

    own = Weights(seed)
    layers = [(own(width, 4 * size), own(size, 4 * size), own(4 * size)) for width in (8, size)]
    head = own(size, 5)

    def layer(x, weights):
        kernel, recurrent, bias = weights

        def step(state, row):
            hidden, cell = state
            i, f, g, o = jnp.split(row @ kernel + hidden @ recurrent + bias, 4, -1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        start = jnp.zeros((x.shape[0], size), x.dtype)
        return jax.lax.scan(step, (start, start), x.swapaxes(0, 1))[1].swapaxes(0, 1)

    def network(sequence):
        x = sequence
        for weights in layers:
            x = layer(x, weights)
        return x[:, -1] @ head

    return network, {"sequence": np.random.default_rng(7).normal(size=(2, 10, 8))}


NETWORKS = {"MobileNetV3": mobilenet, "ViT": vit, "BERT": bert, "LSTM": lstm}


def feeds_of(arrays):
    """The arrays with floats in float32."""
    return {
        name: each.astype(np.float32) if each.dtype.kind == "f" else each
        for name, each in arrays.items()
    }
