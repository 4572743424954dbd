"""Which three tensors of a quantized model lose the most, and would float make up for it?

The folklore: the first and the last layer, or the tensor with the lowest signal-to-noise ratio.

Measured, in float64, with one tensor at a time left unrounded: the int8 file that fer publishes
beside its Keras model has nine quantized weights, all within 2 dB of the ideal. Three of them make
the error: with one of these in float it falls by 35%, 26% and 15%, and on fresh inputs by 40%, 34%
and 19%. They are not those with the lowest ratio. In openwakeword's embedding of speech, taken to
int8 by isomorph, the error is spread over 99 tensors: the worst three give back 16%, 12% and 11%,
and on fresh inputs the error is larger without them. Float here and there would not repair it, and
nothing is broken: both are degraded, within what ideal quantizers lose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import quiet
from showing import Facts, show

import isomorph

FER, WORDS = "fer/data/", "openwakeword/resources/models/"
WORST = 3
ROUNDS, BRIEF_ROUNDS = 4, 1
"""Inputs that tensors are chosen by, and as many fresh ones."""
CALIBRATED_ON, BRIEF_CALIBRATED_ON = 8, 2
"""Samples that ranges are taken from; the conversion is proven on every one of them."""

Pair = tuple[Path, Path, str, Callable[..., np.ndarray]]
"""A reference and a candidate, the name of the input, and how a sample is drawn."""


def main(rounds: int, samples: int) -> Facts:
    facts: Facts = {}
    with TemporaryDirectory() as folder:
        for name, prepared in {"fer": fer, "openwakeword": openwakeword}.items():
            with quiet():
                pair = prepared(Path(folder), samples)
            facts |= audit(name, rounds, *pair) if pair else {name: "not installed"}
    return facts


def fer(*_: object) -> Pair | None:
    """A face's emotion: a Keras model, and the TFLite file that was published beside it."""
    reference = carried("fer", FER + "emotion_model.hdf5")
    candidate = carried("fer", FER + "emotion_model_quantized.tflite")
    return (reference, candidate, "input_1", face) if reference and candidate else None


def openwakeword(folder: Path, samples: int) -> Pair | None:
    """The embedding of speech: an ONNX model, taken to int8 here on a few samples."""
    reference = carried("openwakeword", WORDS + "embedding_model.onnx")
    if not reference:
        return None
    data, candidate = folder / "samples.npz", folder / "int8.onnx"
    draw = np.random.default_rng(1)
    np.savez(data, input_1=np.concatenate([speech(draw) for _ in range(samples)]))
    isomorph.convert(reference, candidate, quantize="int8", data=data)
    return reference, candidate, "input_1", speech


def carried(package: str, path: str) -> Path | None:
    """A file of an installed package, which is not imported for it."""
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        return None
    return next((Path(str(each.locate())) for each in listed if str(each) == path), None)


def face(draw: np.random.Generator) -> np.ndarray:
    """Light and dark patches between -1 and 1."""
    patches = np.kron(draw.normal(size=(8, 8)), np.ones((8, 8)))
    return np.clip(patches, -1.0, 1.0).astype(np.float32).reshape(1, 64, 64, 1)


def speech(draw: np.random.Generator) -> np.ndarray:
    """A spectrogram of noise: 76 frames of 32 bands."""
    return draw.normal(scale=2.0, size=(1, 76, 32, 1)).astype(np.float32)


def audit(
    name: str,
    rounds: int,
    reference: Path,
    candidate: Path,
    fed: str,
    sample: Callable[..., np.ndarray],
) -> Facts:
    """The worst tensors on some inputs, and what float makes of them there and on fresh ones."""
    draw = np.random.default_rng(0)
    seen, fresh = (
        [measured(reference, candidate, {fed: sample(draw)}) for _ in range(rounds)]
        for _ in range(2)
    )
    here, there = gains(seen), gains(fresh)
    rows = {row.tensor: row for row in seen[0].quantization}
    facts: Facts = {}
    for tensor in sorted(here, key=lambda each: -here[each])[:WORST]:
        row = rows[tensor]
        facts[f"{name}: {tensor[-38:]}"] = {
            "kind": row.kind,
            "used": f"{row.used:.0%}",
            "SQNR dB": row.sqnr_db,
            "ideal dB": row.ideal_sqnr_db if row.ideal_sqnr_db is not None else "",
            "error in float": f"{-here[tensor]:+.0%}",
            "on fresh inputs": f"{-there[tensor]:+.0%}",
        }
    facts[f"{name}, verdicts"] = sorted({each.verdict.value for each in (*seen, *fresh)})
    facts[f"{name}, quantized tensors"] = len(rows)
    facts[f"{name}, tensors tried in float"] = len(here)
    return facts


def measured(reference: Path, candidate: Path, inputs: dict[str, np.ndarray]):
    with quiet():
        return isomorph.check(
            reference,
            candidate,
            inputs=inputs,
            in_process=True,
            options=isomorph.CheckOptions(quantization=True),
        )


def gains(reports: Sequence) -> dict[str, float]:
    """The mean share of the outputs' error that goes with one tensor in float."""
    found: dict[str, list[float]] = {}
    for report in reports:
        for row in report.quantization:
            if row.gain is not None:
                found.setdefault(row.tensor, []).append(row.gain)
    return {tensor: float(np.mean(each)) for tensor, each in found.items()}


if __name__ == "__main__":
    brief = "--brief" in sys.argv
    show(main(BRIEF_ROUNDS, BRIEF_CALIBRATED_ON) if brief else main(ROUNDS, CALIBRATED_ON))
