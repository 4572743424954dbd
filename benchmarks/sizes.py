"""Pairs with a dynamic axis: is what is claimed for every size true at other sizes?

    python benchmarks/sizes.py                        # 600 pairs
    python benchmarks/sizes.py --pairs 5000 --seed 2

Each reference is a random chain of layers on ``x [n, 4]``; the candidate writes some of them down
differently: equal for every size, equal for the size that is tried alone, or different. Whatever is
claimed for every size is evaluated at other sizes by the reference evaluator of the onnx package,
which shares no code with isomorph. A claim that is wrong there ends the program with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

WIDTH = 4
SIZE = "@s = Shape<start=0,end=1>(@x)\n"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("@y = Relu(@x)", "@y = Max(@x, fzero)",
            "@d = Mul(@x, ftwo)\n@r = Relu(@d)\n@y = Mul(@r, fhalf)"),
    ("@y = MatMul(@x, w)", "@a = MatMul(@x, w)\n@b = Mul(@a, ftwo)\n@y = Sub(@b, @a)",
     "@y = MatMul(@x, other)", ("@t = Transpose(@x)\n@u = Transpose(w)\n@v = MatMul(@u, @t)\n"
     "@y = Transpose(@v)"), "@y = MatMul(w, @x)"),
    ("@y = Identity(@x)", "@y = Reshape(@x, tried_4)", "@y = Reshape(@x, m1_4)",
     "@r = Reshape(@x, m1_2_2)\n@y = Reshape(@r, m1_4)", ("@r = Reshape(@x, m1_wide)\n"
     "@y = Reshape(@r, m1_4)"), "@r = Reshape(@x, m1_8)\n@y = Reshape(@r, m1_4)",
     "@f = Flatten<axis=0>(@x)\n@s = Shape(@x)\n@y = Reshape(@f, @s)",
     f"{SIZE}@t = Concat<axis=0>(@s, four)\n@y = Reshape(@x, @t)",
     f"{SIZE}@t = Concat<axis=0>(four, @s)\n@y = Reshape(@x, @t)",
     "@f = Reshape(@x, m1)\n@r = Reshape(@f, four_m1)\n@y = Reshape(@r, m1_4)"),
    ("@m = ReduceMean(@x, zero)\n@y = Sub(@x, @m)", ("@t = ReduceSum(@x, zero)\n"
     "@m = Mul(@t, ftried_inverse)\n@y = Sub(@x, @m)"), ("@t = ReduceSum(@x, zero)\n"
     "@m = Div(@t, ftried)\n@y = Sub(@x, @m)"), (f"{SIZE}@q = Squeeze(@s)\n@f = Cast<to=1>(@q)\n"
     "@t = ReduceSum(@x, zero)\n@m = Div(@t, @f)\n@y = Sub(@x, @m)"),
     "@m = ReduceMean(@x, one)\n@y = Sub(@x, @m)"),
    ("@y = Softmax<axis=0>(@x)", ("@m = ReduceMax(@x, zero)\n@d = Sub(@x, @m)\n@e = Exp(@d)\n"
     "@t = ReduceSum(@e, zero)\n@y = Div(@e, @t)"), "@y = Softmax<axis=1>(@x)",
     "@l = LogSoftmax<axis=0>(@x)\n@y = Exp(@l)"),
    ("@y = Add(@x, row)", (f"{SIZE}@t = Concat<axis=0>(@s, four)\n@e = Expand(row, @t)\n"
     "@y = Add(@x, @e)"), "@e = Expand(row, tried_4)\n@y = Add(@x, @e)",
     "@e = Tile(row, tried_1)\n@y = Add(@x, @e)", "@y = Add(@x, rows)"),
    ("@y = Identity(@x)", "@y = Slice(@x, zero, most, zero)", "@y = Slice(@x, zero, tried, zero)",
     "@y = Slice(@x, zero, many, zero)", (f"{SIZE}@d = Concat<axis=0>(@x, @x)\n"
     "@y = Slice(@d, zero, @s, zero)"), (f"{SIZE}@d = Concat<axis=0>(@x, @x)\n"
     "@y = Slice(@d, @s, most, zero)"), ("@d = Concat<axis=0>(@x, @x)\n"
     "@y = Slice(@d, zero, tried, zero)"), "@y = Gather(@x, places)",
     f"{SIZE}@e = Min(@s, many)\n@y = Slice(@x, zero, @e, zero)"),
    (f"{SIZE}@f = Cast<to=1>(@s)\n@y = Div(@x, @f)", "@y = Div(@x, ftried)",
     "@y = Mul(@x, ftried_inverse)", (f"{SIZE}@f = Cast<to=1>(@s)\n@i = Reciprocal(@f)\n"
     "@y = Mul(@x, @i)"), "@s = Size(@x)\n@f = Cast<to=1>(@s)\n@y = Div(@x, @f)"),
    ("@y = LayerNormalization(@x, scale)", ("@m = ReduceMean(@x, one)\n@d = Sub(@x, @m)\n"
     "@q = Mul(@d, @d)\n@v = ReduceMean(@q, one)\n@e = Add(@v, epsilon)\n@r = Sqrt(@e)\n"
     "@n = Div(@d, @r)\n@y = Mul(@n, scale)"), ("@m = ReduceMean(@x, zero)\n@d = Sub(@x, @m)\n"
     "@q = Mul(@d, @d)\n@v = ReduceMean(@q, zero)\n@e = Add(@v, epsilon)\n@r = Sqrt(@e)\n"
     "@y = Div(@d, @r)")),
    ("@y = CumSum(@x, izero)", "@y = MatMul(triangle, @x)", "@y = CumSum(@x, ione)"),
    ("@y = Slice(@x, last, least, zero, back)", "@y = Gather(@x, backward)", "@y = Identity(@x)"),
    ("@m = ReduceMax(@x, zero)\n@y = Sub(@x, @m)", ("@n = Neg(@x)\n@i = ReduceMin(@n, zero)\n"
     "@y = Add(@x, @i)"), "@m = ReduceMax(@x, one)\n@y = Sub(@x, @m)"),
    ("@k = Transpose(@x)\n@s = MatMul(@x, @k)\n@p = Softmax(@s)\n@y = MatMul(@p, @x)",
     ("@k = Transpose(@x)\n@s = MatMul(@x, @k)\n@m = ReduceMax(@s, one)\n@d = Sub(@s, @m)\n"
     "@e = Exp(@d)\n@t = ReduceSum(@e, one)\n@p = Div(@e, @t)\n@y = MatMul(@p, @x)"),
     "@k = Transpose(@x)\n@s = MatMul(@x, @k)\n@p = Softmax<axis=0>(@s)\n@y = MatMul(@p, @x)",
     ("@k = Transpose(@x)\n@h = Mul(@k, fhalf)\n@d = Mul(@h, ftwo)\n@s = MatMul(@x, @d)\n"
     "@p = Softmax(@s)\n@y = MatMul(@p, @x)")),
    ("@y = Identity(@x)",
            f"{SIZE}@q = Equal(@s, tried)\n@t = Mul(@x, ftwo)\n@y = Where(@q, @x, @t)",
     f"{SIZE}@q = Less(@s, many)\n@t = Mul(@x, ftwo)\n@y = Where(@q, @x, @t)",
     f"{SIZE}@q = Less(@s, zero)\n@t = Mul(@x, ftwo)\n@y = Where(@q, @t, @x)",
     f"{SIZE}@q = Mod(@s, two)\n@c = Cast<to=9>(@q)\n@t = Mul(@x, ftwo)\n@y = Where(@c, @t, @x)"),
    ("@u = Unsqueeze(@x, one)\n@r = Relu(@u)\n@y = Squeeze(@r, one)", "@y = Relu(@x)",
     "@u = Unsqueeze(@x, one)\n@r = Relu(@u)\n@q = Squeeze(@r)\n@y = Reshape(@q, m1_4)",
     "@u = Unsqueeze(@x, one)\n@r = Relu(@u)\n@y = Squeeze(@r)"),
    (("@c = Concat<axis=1>(@x, @x)\n@r = Reshape(@c, m1_4)\n@t = MatMul(@r, w)\n"
     "@b = Reshape(@t, m1_8)\n@y = Slice(@b, zero, four, one)"), "@y = MatMul(@x, w)",
     "@c = Concat<axis=0>(@x, @x)\n@t = MatMul(@c, w)\n@y = Slice(@t, zero, tried, zero)",
     f"{SIZE}@c = Concat<axis=0>(@x, @x)\n@t = MatMul(@c, w)\n@y = Slice(@t, zero, @s, zero)"),
    ("@a = Slice(@x, last, most, zero)\n@y = Add(@x, @a)",
     "@a = Slice(@x, tried_last, tried, zero)\n@y = Add(@x, @a)",
     "@a = Slice(@x, zero, one, zero)\n@y = Add(@x, @a)",
             "@a = Gather(@x, ilast)\n@y = Add(@x, @a)",
     "@a = Gather(@x, itried_last)\n@y = Add(@x, @a)"),
    ("@a = ArgMax<axis=0>(@x)\n@f = Cast<to=1>(@a)\n@y = Add(@x, @f)",
     "@a = ArgMax<axis=1>(@x)\n@f = Cast<to=1>(@a)\n@y = Add(@x, @f)"),
    ((f"{SIZE}@q = Squeeze(@s)\n@r = Range(izero, @q, ione)\n@f = Cast<to=1>(@r)\n"
     "@u = Unsqueeze(@f, one)\n@y = Add(@x, @u)"), "@y = Add(@x, numbers)"),
    ("@m = ReduceMean<keepdims=0>(@x)\n@y = Sub(@x, @m)", ("@t = ReduceSum<keepdims=0>(@x)\n"
     "@m = Mul(@t, fall_inverse)\n@y = Sub(@x, @m)"), ("@s = Size(@x)\n@f = Cast<to=1>(@s)\n"
     "@t = ReduceSum<keepdims=0>(@x)\n@m = Div(@t, @f)\n@y = Sub(@x, @m)")),
)  # fmt: skip
"""Each layer with other spellings of it, or of something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A pair, and the size that is tried."""

    reference: onnx.ModelProto
    candidate: onnx.ModelProto
    tried: int


def make_pair(seed: int) -> Made:
    """A random chain of layers, and the same chain in other spellings."""
    draw = np.random.default_rng(seed)
    tried = int(draw.choice([1, 2, 4, 6, 8]))
    chosen = draw.integers(0, len(LAYERS), draw.integers(1, 5))
    others = [
        int(draw.integers(0, len(LAYERS[layer]))) if draw.random() < 0.5 else 0 for layer in chosen
    ]
    constants = _constants(np.random.default_rng(seed), tried)
    one = _model([LAYERS[layer][0] for layer in chosen], constants)
    other = _model([LAYERS[layer][at] for layer, at in zip(chosen, others, strict=True)], constants)
    return Made(reference=one, candidate=other, tried=tried)


def _constants(draw: np.random.Generator, tried: int) -> dict[str, np.ndarray]:
    whole = {
        "zero": [0], "one": [1], "two": [2], "four": [4], "tried": [tried], "many": [100],
        "tried_4": [tried, 4], "tried_1": [tried, 1], "m1": [-1], "m1_4": [-1, 4], "m1_8": [-1, 8],
        "m1_2_2": [-1, 2, 2], "m1_wide": [-1, 4 * tried], "four_m1": [4, -1], "last": [-1],
        "tried_last": [tried - 1], "most": [2**63 - 1], "least": [-(2**63)], "back": [-1],
        "places": list(range(tried)), "backward": list(range(tried))[::-1], "izero": 0, "ione": 1,
        "ilast": [-1], "itried_last": [tried - 1],
    }  # fmt: skip
    floats = {
        "fzero": 0.0, "fhalf": 0.5, "ftwo": 2.0, "ftried": float(tried), "epsilon": 1e-5,
        "ftried_inverse": 1 / tried, "fall_inverse": 1 / (4 * tried), "w": draw.normal(size=(4, 4)),
        "other": draw.normal(size=(4, 4)), "row": draw.normal(size=(1, 4)), "scale": np.ones(4),
        "rows": draw.normal(size=(tried, 4)), "triangle": np.tril(np.ones((tried, tried))),
        "numbers": np.arange(float(tried)).reshape(-1, 1),
    }  # fmt: skip
    return {name: np.array(value, np.int64) for name, value in whole.items()} | {
        name: np.array(value, np.float32) for name, value in floats.items()
    }


def _model(layers: list[str], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    lines, at = [], "x"
    for place, layer in enumerate(layers):
        text = layer.replace("@x", at)
        lines.append(text.replace("@", f"l{place}_"))
        at = f"l{place}_y"
    body = "\n".join([*lines, f"y = Identity({at})"])
    made = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18]>
        g (float[n,{WIDTH}] x) => (float y) {{ {body} }}""")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    used = {name for node in made.graph.node for name in node.input}
    for name, value in constants.items():
        if name in used:
            made.graph.initializer.append(numpy_helper.from_array(value, name))
    return made


def outcome(model: onnx.ModelProto, size: int) -> np.ndarray | None:
    """The output for one size; None where the graph has none."""
    given = np.random.default_rng(size).normal(size=(size, WIDTH)).astype(np.float32)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(ReferenceEvaluator(model).run(None, {"x": given})[0])
    except Exception:
        return None


def equal_at(pair: Made, size: int) -> bool:
    """Whether both models do the same for one size, or both fail."""
    left, right = outcome(pair.reference, size), outcome(pair.candidate, size)
    if left is None or right is None:
        return left is None and right is None
    if left.shape != right.shape:
        return False
    largest = float(np.abs(left).max(initial=1.0))
    return bool(np.allclose(left, right, rtol=1e-3, atol=1e-3 * largest, equal_nan=True))


def examined(seed: int) -> tuple[str, int]:
    """What is claimed of a pair, and whether other sizes agree: the word, and a size that fails."""
    import isomorph

    pair = make_pair(seed)
    found = isomorph.prove(
        pair.reference, pair.candidate, dims={"n": pair.tried}, in_process=True, seed=seed
    )
    others = (1, 2, 3, 5, 6, pair.tried + 1, 2 * pair.tried + 3, 130)
    failing = [size for size in others if not equal_at(pair, size)]
    axis = found.axes[0]
    if not axis.every_size:
        return "unclaimed but equal" if found.whole and not failing else "unclaimed", 0
    wrong = [size for size in failing if size >= axis.least]
    return ("WRONG", wrong[0]) if wrong else ("true", 0)


def main(words: list[str] | None = None) -> int:
    """Examine pairs, and print what was claimed of them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=600)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--brief", action="store_true", help="60 pairs")
    given = options.parse_args(words)
    begun, counts = time.process_time(), Counter[str]()
    for seed in range(given.seed * 1_000_000, given.seed * 1_000_000 + given.pairs):
        word, size = examined(seed)
        counts[word] += 1
        if word == "WRONG":
            sys.stdout.write(f"wrong: pair {seed} differs at size {size}\n")
        if given.brief and sum(counts.values()) == 60:
            break
    words = [f"{count} {word}" for word, count in sorted(counts.items())]
    seconds = time.process_time() - begun
    sys.stdout.write(f"{sum(counts.values())} pairs: {', '.join(words)}; {seconds:.0f} s\n")
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
