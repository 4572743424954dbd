"""TensorFlow graphs and TFLite files with one change: none that computes something else is proven.

    python benchmarks/proof_tensorflow.py --count 100 --seed 1

An expression of one to five operators is written as a TensorFlow graph and converted to TFLite; so
are copies with one change: another option, another number, or two operators exchanged. TensorFlow
itself evaluates both in float64, on numbers of either sign, zeros, ties and large ones. A pair with
other results that is proven is a false proof. So is a proven conversion whose run in LiteRT gives
other results than TensorFlow's.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
sys.path.insert(0, str(Path(__file__).parent))
SHAPES = ((2, 6, 7, 4), (2, 5, 4), (3, 4))
CHANGES = 3
"""Changed copies of each expression."""
SEEN = 1e-6
"""Beside the largest element, a difference beyond that of two float64 evaluations."""
SEEN_IN_RUN = 1e-3
"""One beyond that of two float32 runs of a few operators."""


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where something is proven that is false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="expressions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brief", action="store_true", help="8 expressions")
    given = parser.parse_args(arguments)
    given.count = 8 if given.brief else given.count
    warnings.simplefilter("ignore")
    logging.getLogger("absl").setLevel("ERROR")
    begun, counts = time.process_time(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.count):
            _examine(Path(folder), [given.seed, number], counts)
    summary = {"seed": given.seed, "counts": dict(counts), "cpu": time.process_time() - begun}
    sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    return int(counts["FALSE PROOF"] > 0)


def _examine(folder: Path, seed: Sequence[int], counts: Counter[str]) -> None:
    """One expression: its conversion, and changed copies in both formats."""
    import tensorflow as tf
    from networks.tensorflow_expressions import applied, changed_steps, random_steps

    random = np.random.default_rng(seed)
    whole, shape = bool(random.random() < 0.25), SHAPES[int(random.integers(len(SHAPES)))]
    steps = random_steps(random, shape, whole=whole)
    if not steps or not _write(folder / "one", steps, shape, whole=whole):
        counts["not made"] += 1
        return
    counts["expressions"] += 1
    inputs = list(_inputs(random, shape, whole=whole))
    expected = [applied(steps, tf.constant(each)).numpy() for each in inputs]
    _conversion(folder / "one", steps, inputs, expected, counts)
    for _ in range(CHANGES):
        changed, what = changed_steps(steps, random)
        if not _write(folder / "other", changed, shape, whole=whole):
            counts["refused by TensorFlow"] += 1
            continue
        try:
            results = [applied(changed, tf.constant(each)).numpy() for each in inputs]
        except tf.errors.OpError:
            # Some sizes are looked at in a run alone.
            counts["refused by TensorFlow"] += 1
            continue
        apart = max(_distance(a, b) for a, b in zip(expected, results, strict=True))
        group = "different" if apart > SEEN else "same"
        counts[group] += 1
        for left, right in (("pb", "pb"), ("pb", "tflite"), ("tflite", "tflite")):
            one, other = folder / f"one.{left}", folder / f"other.{right}"
            if one.exists() and other.exists() and _proven(one, other, counts):
                counts[f"{group} proven"] += 1
                if group == "different":
                    counts["FALSE PROOF"] += 1
                    sys.stdout.write(f"FALSE {seed} {left} {right} {what} {apart:.3g} {steps}\n")
                    sys.stdout.flush()


def _conversion(
    path: Path,
    steps: Sequence[Any],
    inputs: Sequence[Any],
    expected: Sequence[Any],
    counts: Counter[str],
) -> None:
    """The pair of one expression in both formats, which should be proven, and true in a run."""
    import tensorflow as tf
    from networks.tensorflow_expressions import applied

    graph, file = path.with_suffix(".pb"), path.with_suffix(".tflite")
    if not file.exists():
        return
    counts["conversions"] += 1
    if not _proven(graph, file, counts):
        return
    counts["conversions proven"] += 1
    for each, wide in zip(inputs, expected, strict=True):
        stored = each.astype(np.float32) if each.dtype.kind == "f" else each
        narrow = applied(steps, tf.constant(stored)).numpy()
        found = _run(file, stored)
        if found is not None and min(_distance(narrow, found), _distance(wide, found)) > (
            SEEN_IN_RUN
        ):
            counts["FALSE PROOF"] += 1
            sys.stdout.write(f"FALSE conversion {steps} {np.abs(each).max()}\n")
            sys.stdout.flush()
            return


def _proven(one: Path, other: Path, counts: Counter[str]) -> bool:
    import isomorph

    counts["pairs"] += 1
    try:
        return isomorph.prove(one, other, in_process=True).whole
    except isomorph.IsomorphError as error:
        counts[f"refused: {error.code}"] += 1
        return False


def _write(path: Path, steps: Sequence[Any], shape: Sequence[int], *, whole: bool) -> bool:
    """The expression as a graph, and as a TFLite file where there is one."""
    import tensorflow as tf
    from networks.tensorflow_expressions import applied

    spec = tf.TensorSpec(shape, tf.int32 if whole else tf.float32, name="x")
    graph, file = path.with_suffix(".pb"), path.with_suffix(".tflite")
    file.unlink(missing_ok=True)
    try:
        made = tf.function(lambda x: applied(steps, x)).get_concrete_function(spec)
    except (tf.errors.OpError, ValueError, TypeError):
        graph.unlink(missing_ok=True)
        return False
    graph.write_bytes(made.graph.as_graph_def().SerializeToString())
    try:
        file.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([made]).convert())
    except Exception:
        # Not every operator has a builtin one of TFLite.
        return True
    return True


def _run(path: Path, x: Any) -> Any:
    """What LiteRT computes, without delegates; None where it does not."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        runner = Interpreter(model_path=str(path), experimental_op_resolver_type=kind)
        runner.allocate_tensors()
        runner.set_tensor(runner.get_input_details()[0]["index"], x)
        runner.invoke()
    except (RuntimeError, ValueError):
        return None
    return runner.get_tensor(runner.get_output_details()[0]["index"])


def _inputs(random: np.random.Generator, shape: Sequence[int], *, whole: bool) -> Iterator[Any]:
    """Numbers of either sign, zeros, ties, halves and large ones; whole numbers up to the ends."""
    if whole:
        ends = np.iinfo(np.int32)
        yield random.integers(-5, 6, shape, np.int32)
        yield random.integers(-300, 300, shape, np.int32)
        yield random.integers(ends.min, ends.max, shape, np.int32)
        yield random.choice(
            np.array([ends.min, ends.max, -1, 0, 1, 46341, 65536, 127, 128, 256], np.int32), shape
        )
        return
    # What a float32 run is given as well.
    for scale in (0.01, 1.0, 100.0):
        yield (scale * random.normal(size=shape)).astype(np.float32).astype(np.float64)
    yield random.integers(-3, 4, shape).astype(np.float64)
    yield random.integers(-9, 10, shape) / 2
    yield np.zeros(shape)
    yield random.uniform(-1e4, 1e4, shape).astype(np.float32).astype(np.float64)


def _distance(one: Any, other: Any) -> float:
    """The largest difference beside the largest element; whole numbers are equal or not."""
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return float("inf")
    if one.dtype.kind != "f":
        return 0.0 if np.array_equal(one, other) else float("inf")
    a, b = one.astype(np.float64), other.astype(np.float64)
    kept = np.isfinite(a) & np.isfinite(b)
    largest = np.abs(a[kept]).max(initial=0.0)
    off = np.abs(a[kept] - b[kept]).max(initial=0.0)
    return float(off / largest) if largest else float(off > 0.0)


if __name__ == "__main__":
    raise SystemExit(main())
