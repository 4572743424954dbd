"""One kind of pass over one model, in a process of its own: ``step.py KIND MODEL INPUTS``.

Makes everything ready, says so in one line of JSON, and then does one pass for each line it reads.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

Feeds = dict[str, np.ndarray[Any, Any]]
Pass = Callable[[], object]


def main(kind: str, model: str, inputs: str) -> None:
    # Libraries print as they please; the answers go where nothing else is written.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with np.load(inputs) as archive:
        feeds = {name: archive[name] for name in archive.files}
    try:
        once = KINDS[kind](Path(model), feeds)
        _say(answers, {"ready": kind})
        for _ in sys.stdin:
            started = time.perf_counter()
            once()
            _say(answers, {"seconds": time.perf_counter() - started})
    except Exception as error:
        _say(answers, {"error": f"{type(error).__name__}: {error}"})
        raise SystemExit(1) from error


def _say(answers: TextIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _plain(model: Path, feeds: Feeds) -> Pass:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _plain_tensorflow(model: Path, feeds: Feeds) -> Pass:
    import keras
    import tensorflow as tf

    loaded = keras.models.load_model(model)
    function = tf.function(lambda x: loaded(x, training=False))
    (array,) = feeds.values()
    given = tf.constant(array)
    return lambda: function(given).numpy()


def _plain_tflite(model: Path, feeds: Feeds) -> Pass:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model))
    interpreter.allocate_tensors()
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    (array,) = feeds.values()
    scale, zero = taken["quantization"]
    if scale:
        limits = np.iinfo(taken["dtype"])
        array = np.clip(np.rint(array / scale) + zero, limits.min, limits.max)
    array = array.astype(taken["dtype"])

    def once() -> object:
        interpreter.set_tensor(taken["index"], array)
        interpreter.invoke()
        return interpreter.get_tensor(given["index"])

    return once


def _reference_evaluator(model: Path, feeds: Feeds) -> Pass:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(model))
    return lambda: evaluator.run(None, feeds)


def _session(framework: str, runtime: str, *, everything: bool = False, noisy: bool = False) -> Any:
    def ready(path: Path, feeds: Feeds) -> Pass:
        from isomorph import registry
        from isomorph.core.threads import use_threads
        from isomorph.core.trace import Environment, Noise

        # A plain inference takes every core as well.
        use_threads(len(os.sched_getaffinity(0)))
        model = registry.framework(framework).load(str(path), {})
        chosen = registry.runtime(runtime)
        session = chosen.open(
            model, Environment(runtime=runtime, settings=dict(chosen.settings), isolation="none")
        )
        # One input each: the names differ between frameworks, the place does not.
        names = [spec.name for spec in model.graph.inputs]
        given = dict(zip(names, feeds.values(), strict=True))
        fetch = [spec.name for spec in model.graph.outputs]
        if everything:
            fetch = [name for node in model.graph.nodes for name in node.outputs if name]
        seeds = iter(range(1_000_000))
        if not noisy:
            return lambda: session.run(given, fetch)
        return lambda: session.run(given, fetch, noise=Noise(seed=next(seeds), rounding=True))

    return ready


KINDS: Mapping[str, Callable[[Path, Feeds], Pass]] = {
    "plain": _plain,
    "capture": _session("onnx", "onnxruntime", everything=True),
    "torch": _session("pytorch", "pytorch"),
    "onnx_oracle": _session("onnx", "onnx_oracle"),
    "onnx_oracle_all": _session("onnx", "onnx_oracle", everything=True),
    "onnx_oracle_noisy": _session("onnx", "onnx_oracle", noisy=True),
    "pytorch_oracle": _session("pytorch", "pytorch_oracle"),
    "pytorch_oracle_noisy": _session("pytorch", "pytorch_oracle", noisy=True),
    "reference_evaluator": _reference_evaluator,
    "plain_tensorflow": _plain_tensorflow,
    "tensorflow_capture": _session("tensorflow", "tensorflow", everything=True),
    "tensorflow_oracle": _session("tensorflow", "tensorflow_oracle"),
    "tensorflow_oracle_noisy": _session("tensorflow", "tensorflow_oracle", noisy=True),
    "plain_tflite": _plain_tflite,
    "tflite_capture": _session("tflite", "tflite", everything=True),
    "tflite_oracle": _session("tflite", "tflite_oracle"),
    "tflite_oracle_all": _session("tflite", "tflite_oracle", everything=True),
    "tflite_oracle_noisy": _session("tflite", "tflite_oracle", noisy=True),
}


if __name__ == "__main__":
    main(*sys.argv[1:])
