"""Why does an int4 decoder choose other tokens, although its weights are the same?

The folklore: the weights are the same, so what differs is rounding, and the tokens are ties.

Measured: MatMulNBits has an attribute, accuracy_level, and at level 4 ONNX Runtime also quantizes
the activations to int8, in blocks along K. Exporters write 4 by default. That is the mechanism of
onnxruntime#29849, where Qwen3-0.6B and Phi-3.5-mini choose wrong tokens on the CPU: one channel of
an activation is hundreds of times larger than the others, and its block gets a step that these
do not survive. Here one channel is 300 times larger. With level 1 the run is that of level 0; with
level 4 the logits are off by 9%, 400,000 times the rounding of the reference, and 5 of 128 tokens
differ. isomorph finds the graphs equal and the candidate degraded, and names the nodes and the
attribute. A wrong epsilon beside it, whose effect is a hundredth of the loss, is divergent all the
same.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

WIDTH, HIDDEN, WORDS, BLOCK, TOKENS = 64, 128, 512, 32, 128
SIZES = {"up": (HIDDEN, WIDTH), "down": (WIDTH, HIDDEN), "head": (WORDS, WIDTH)}
OUTLIER = 300.0
PRODUCT = "com.microsoft.MatMulNBits <K={k}, N={n}, bits=4, block_size={block}, {level}>"


def main() -> Facts:
    x = np.random.default_rng(1).normal(size=(TOKENS, WIDTH)).astype(np.float32)
    reports, logits = {}, {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        models = {
            "level 0": _decoder(folder / "level_0.onnx", 0),
            "level 1": _decoder(folder / "level_1.onnx", 1),
            "level 4": _decoder(folder / "level_4.onnx", 4),
            "level 4 and another epsilon": _decoder(folder / "epsilon.onnx", 4, epsilon=1e-2),
        }
        for title, model in models.items():
            ran = isomorph.run(model, inputs={"x": x}, in_process=True)
            logits[title] = ran.tensors["logits"]
            reports[title] = isomorph.check(
                models["level 0"], model, inputs={"x": x}, in_process=True
            )
        even = [_decoder(folder / f"even_{level}.onnx", level, outlier=1.0) for level in (0, 4)]
        calm = isomorph.check(*even, inputs={"x": x}, in_process=True)
    chosen = {title: np.argmax(each, axis=-1) for title, each in logits.items()}
    found = reports["level 4"].findings[0] if reports["level 4"].findings else None
    return {
        **{title: first_finding(report) for title, report in reports.items()},
        "tokens that differ at level 4": int(np.sum(chosen["level 4"] != chosen["level 0"])),
        "tokens": TOKENS,
        "relative error with the outlier": _error(reports["level 4"]),
        "relative error without it": _error(calm),
        "nodes": list(found.nodes) if found else [],
        "in words": found.summary if found else "",
    }


def _error(report: isomorph.Report) -> float:
    observed = report.outputs[0].observed
    return 0.0 if observed is None else float(observed.distance.relative_l2 or 0.0)


def _decoder(path: Path, level: int, *, outlier: float = OUTLIER, epsilon: float = 1e-5) -> Path:
    """A normalized stream with one large channel, a layer of two products, and the words."""
    gain = np.where(np.arange(WIDTH) == 5, outlier, 1.0).astype(np.float32)
    constants, products = {"gain": gain}, {}
    for place, (name, (n, k)) in enumerate(SIZES.items()):
        weight = np.random.default_rng(place).normal(size=(n, k)) / np.sqrt(k)
        parts = zip(("fields", "scales"), _packed(weight), strict=True)
        constants |= {f"{name}_{part}": value for part, value in parts}
        stated = f"accuracy_level={level}"
        products[name] = PRODUCT.format(k=k, n=n, block=BLOCK, level=stated)
    text = f"""decoder (float[{TOKENS},{WIDTH}] x) => (float[{TOKENS},{WORDS}] logits) {{
        [norm] normed = LayerNormalization <epsilon = {epsilon:f}> (x, gain)
        [up] wide = {products["up"]} (normed, up_fields, up_scales)
        active = Tanh (wide)
        [down] narrow = {products["down"]} (active, down_fields, down_scales)
        stream = Add (x, narrow)
        last = LayerNormalization (stream, gain)
        [head] words = {products["head"]} (last, head_fields, head_scales)
        logits = Identity (words) }}"""
    return written(path, text, **constants)


def _packed(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers in each byte, symmetric about 8, and a scale for each block."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / 7
    fields = np.clip(np.rint(blocks / scales[..., None]) + 8, 0, 15).astype(np.uint8)
    return fields[..., 0::2] | fields[..., 1::2] << 4, scales.astype(np.float32)


if __name__ == "__main__":
    show(main())
