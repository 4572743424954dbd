"""A small residual network whose products read packed weights, one channel far above the others."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

INNER, LAYERS, BLOCK, WORDS, ROWS = 64, 3, 32, 32, 4
NAMES = (*(f"{kind}{layer}" for layer in range(LAYERS) for kind in ("up", "down")), "head")
F32 = np.float32


def drawn_weights(seed=1):
    """The weights of all products by name, as rows of outputs."""
    random = np.random.default_rng(seed)
    shapes = {"u": (2 * INNER, INNER), "d": (INNER, 2 * INNER), "h": (WORDS, INNER)}
    return {
        name: (random.standard_normal(shapes[name[0]]) / np.sqrt(shapes[name[0]][1])).astype(F32)
        for name in NAMES
    }


def packed(weight, bits=4):
    """Fields, scales and zero points of a weight, as MatMulNBits reads them."""
    rows, inner = weight.shape
    blocks = weight.reshape(rows, inner // BLOCK, BLOCK)
    low, high = np.minimum(blocks.min(-1), 0), np.maximum(blocks.max(-1), 0)
    last = 2**bits - 1
    scales = ((high - low) / last).astype(F32)
    zeros = np.clip(np.rint(-low / scales), 0, last)
    fields = np.clip(np.rint(blocks / scales[..., None]) + zeros[..., None], 0, last)
    return _bytes(fields, bits), scales, _bytes(zeros, bits)


def network(levels, *, bits=4, gain=300.0, epsilon=1e-5, change=None):
    """The network; ``levels`` are the accuracy levels by name, or None for float weights.

    ``epsilon`` is that of the second layer. ``change`` alters fields, scales and zeros by name.
    """
    nodes, constants = [], {"gain": np.ones(INNER, F32)}
    constants["gain"][5] = gain
    weights = drawn_weights()

    def product(x, name):
        made = f"{name}_y"
        if levels is None:
            constants[f"{name}_w"] = np.ascontiguousarray(weights[name].T)
            nodes.append(helper.make_node("MatMul", [x, f"{name}_w"], [made], name))
            return made
        parts = packed(weights[name], bits)
        if change is not None:
            parts = change(name, *parts)
        inputs = [f"{name}_{part}" for part in ("q", "s", "z")]
        constants.update(zip(inputs, parts, strict=True))
        rows, inner = weights[name].shape
        given = {"bits": bits, "block_size": BLOCK, "N": rows, "K": inner}
        if levels.get(name):
            given["accuracy_level"] = levels[name]
        nodes.append(
            helper.make_node(
                "MatMulNBits", [x, *inputs], [made], name, domain="com.microsoft", **given
            )
        )
        return made

    def norm(x, name, epsilon):
        nodes.append(
            helper.make_node(
                "LayerNormalization", [x, "gain"], [f"{name}_y"], name, epsilon=epsilon
            )
        )
        return f"{name}_y"

    x = "x"
    for layer in range(LAYERS):
        up = product(norm(x, f"norm{layer}", epsilon if layer == 1 else 1e-5), f"up{layer}")
        nodes.append(helper.make_node("Tanh", [up], [f"tanh{layer}_y"], f"tanh{layer}"))
        down = product(f"tanh{layer}_y", f"down{layer}")
        nodes.append(helper.make_node("Add", [x, down], [f"add{layer}_y"], f"add{layer}"))
        x = f"add{layer}_y"
    logits = product(norm(x, "last_norm", 1e-5), "head")
    nodes.append(helper.make_node("Identity", [logits], ["logits"], "out"))
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "decoder",
        [helper.make_tensor_value_info("x", kind, [ROWS, INNER])],
        [helper.make_tensor_value_info("logits", kind, [ROWS, WORDS])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def at(level, *names):
    """The accuracy levels of all products: ``level`` for these, or for all, and 0 for others."""
    return dict.fromkeys(names or NAMES, level)


def _bytes(fields, bits):
    fields = fields.astype(np.uint8)
    return fields if bits == 8 else fields[..., 0::2] | fields[..., 1::2] << 4
