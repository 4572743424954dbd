"""Known faults that must not be proven: no output that lies behind a fault.

    python benchmarks/proof_faults.py FOLDER          # a folder with cases/ and truth/
    python benchmarks/proof_faults.py --tflite 200    # random changes of TFLite files

A case is a reference, a candidate and inputs; its truth says whether they are the same function.
A changed TFLite file differs from its original where LiteRT's results do.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
SEEN = 1e-5
"""Beside the largest output, a difference beyond that of LiteRT's kernels on one function."""


def main() -> int:
    """1 where something is proven that is false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--tflite", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brief", action="store_true", help="20 changed files")
    given = parser.parse_args()
    given.tflite = 20 if given.brief else given.tflite
    warnings.simplefilter("ignore")
    wrong = _cases(given.folder) if given.folder else 0
    return int(wrong + (_changed_files(given.tflite, given.seed) if given.tflite else 0) > 0)


# -- cases with a known truth -------------------------------------------------------------------


def _cases(folder: Path) -> int:
    import isomorph

    counts: Counter[str] = Counter()
    for path in sorted((folder / "truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        faulty = truth["expected_verdict"] == "divergent"
        files = folder / "cases" / path.stem
        reference, candidate = (_only(files, word) for word in ("reference", "candidate"))
        with np.load(files / "inputs.npz") as stored:
            inputs = dict(stored)
        group = "faulty" if faulty else "clean"
        counts[group] += 1
        try:
            proof = isomorph.prove(reference, candidate, inputs=inputs, in_process=True)
        except isomorph.IsomorphError as error:
            counts[f"{group} refused"] += 1
            sys.stdout.write(f"{path.stem} {group} {error.code}\n")
            continue
        states = [str(each.standing) for each in proof.outputs]
        behind = _reached(candidate, set(truth.get("nodes") or ()))
        false = [
            each.candidate for each in proof.outputs
            if faulty and each.open is None and (not behind or each.candidate in behind)
        ]  # fmt: skip
        counts[f"{group} proven"] += proof.whole
        counts["FALSE PROOF"] += bool(false)
        first = next((each.open for each in proof.outputs if each.open is not None), None)
        why = "" if first is None else f"{first.reason} {first.op} {first.details}"[:100]
        sys.stdout.write(f"{path.stem} {group} {Counter(states)} {proof.share:.0%} {why}\n")
        if false:
            sys.stdout.write(f"FALSE {path.stem} {truth.get('fault_kind')} {false}\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps(counts, indent=1) + "\n")
    return counts["FALSE PROOF"]


def _only(folder: Path, word: str) -> Path:
    return next(each for each in sorted(folder.iterdir()) if each.name.startswith(word))


def _reached(candidate: Path, nodes: set[str]) -> set[str]:
    """The outputs of the candidate that depend on one of these nodes; empty if none is known."""
    from isomorph import registry
    from isomorph.store.format_detection import identify

    graph = registry.framework(identify(candidate)).load(candidate, {}).graph
    touched: set[str] = set()
    for node in graph.nodes:
        if node.name in nodes or touched.intersection(node.inputs):
            touched.update(node.outputs)
    return {spec.name for spec in graph.outputs if spec.name in touched}


# -- changed TFLite files -----------------------------------------------------------------------


def _changed_files(count: int, seed: int) -> int:
    import isomorph

    originals = [_keras_file(name) for name in ("keras_cnn", "keras_transformer")]
    counts: Counter[str] = Counter()
    draw = np.random.default_rng(seed)
    for number in range(count):
        reference, original = originals[number % len(originals)]
        changed, what = _changed(original, draw)
        if changed is None:
            counts["no change"] += 1
            continue
        try:
            off = _distance(original, changed, np.random.default_rng(number))
        except (RuntimeError, ValueError):
            counts["LiteRT refuses"] += 1
            continue
        group = "different" if off > SEEN else "same"
        counts[group] += 1
        for name, left in (("keras", reference), ("tflite", original)):
            try:
                proof = isomorph.prove(left, changed, in_process=True)
            except isomorph.IsomorphError:
                counts[f"{name} refused"] += 1
                continue
            counts[f"{group} proven from {name}"] += proof.whole
            if proof.whole:
                counts["FALSE PROOF"] += group == "different"
                word = "FALSE" if group == "different" else group
                sys.stdout.write(f"{word} {name} {number} {what} {off:.3g}\n")
    sys.stdout.write(json.dumps(counts, indent=1) + "\n")
    return counts["FALSE PROOF"]


def _keras_file(name: str) -> tuple[Path, bytes]:
    sys.path.insert(0, str(Path(__file__).parent))
    from networks.exported import exported

    pair = exported(name, "tflite")
    return pair.reference, pair.candidate.read_bytes()


def _changed(original: bytes, draw: np.random.Generator) -> tuple[bytes | None, str]:
    """One change of an option, a weight, a padding, an activation, or the order of operands."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(original, 0)
    graph = model.subgraphs[0]
    operator = graph.operators[draw.integers(len(graph.operators))]
    kinds = {"option": _option, "weight": _weight, "swap": _swap, "constant": _constant}
    kind = str(draw.choice(list(kinds)))
    what = kinds[kind](model, graph, operator, draw)
    if not what:
        return None, ""
    builder = flatbuffers.Builder(len(original) + 4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output()), f"{kind} {what}"


def _option(model, graph, operator, draw) -> str:
    """Another padding, activation, stride, axis, flag or number among the options."""
    options = operator.builtinOptions
    names = [] if options is None else [
        key for key, value in vars(options).items()
        if isinstance(value, (int, float, bool)) and "Quant" not in key
    ]  # fmt: skip
    if not names:
        return ""
    key = str(draw.choice(names))
    value = getattr(options, key)
    if isinstance(value, bool):
        changed = not value
    elif isinstance(value, float):
        changed = value * 1.5 + 0.1
    elif key in ("padding",):
        changed = 1 - value
    else:
        changed = value + int(draw.choice([-1, 1, 2]))
    setattr(options, key, changed)
    return f"{type(options).__name__} {key} {value} -> {changed}"


def _array(model, tensor):
    data = model.buffers[tensor.buffer].data
    kind = {0: np.float32, 2: np.int32, 4: np.int64}.get(tensor.type)
    return None if data is None or kind is None else np.frombuffer(bytes(data), kind).copy()


def _stored(model, graph, operator, *, whole: bool) -> list:
    found = []
    for place in operator.inputs:
        tensor = graph.tensors[place] if place >= 0 else None
        array = None if tensor is None else _array(model, tensor)
        if array is not None and array.size and (array.dtype.kind == "i") == whole:
            found.append((tensor, array))
    return found


def _write(model, tensor, array) -> None:
    """Into a buffer of its own: others may share the old one."""
    buffer = copy.copy(model.buffers[tensor.buffer])
    buffer.data = np.frombuffer(array.tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor.buffer = len(model.buffers) - 1


def _weight(model, graph, operator, draw) -> str:
    """One element of a stored float tensor, by a little or by its sign."""

    def changed(number):
        return number * np.float32(draw.choice([1.001, 0.99, -1.0])) + np.float32(1e-3)

    return _one_element(model, _stored(model, graph, operator, whole=False), draw, changed)


def _constant(model, graph, operator, draw) -> str:
    """One of the whole numbers that state axes, shapes and borders."""

    def changed(number):
        return number + int(draw.choice([-1, 1]))

    return _one_element(model, _stored(model, graph, operator, whole=True), draw, changed)


def _one_element(model, stored: list, draw, changed) -> str:
    """One element of one of the stored tensors, changed."""
    if not stored:
        return ""
    tensor, array = stored[draw.integers(len(stored))]
    place = draw.integers(array.size)
    array[place] = changed(array[place])
    _write(model, tensor, array)
    return f"{tensor.name} [{place}]"


def _swap(model, graph, operator, draw) -> str:
    if len(operator.inputs) < 2:
        return ""
    operator.inputs = list(operator.inputs)
    operator.inputs[0], operator.inputs[1] = operator.inputs[1], operator.inputs[0]
    return "operands"


def _distance(one: bytes, other: bytes, draw: np.random.Generator) -> float:
    """The largest difference of LiteRT's results on two inputs, beside the largest element."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    largest = 0.0
    runners = [
        Interpreter(model_content=each,
                    experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        for each in (one, other)
    ]  # fmt: skip
    for runner in runners:
        runner.allocate_tensors()
    for scale in (1.0, 5.0):
        spec = runners[0].get_input_details()[0]
        value = draw.integers(0, 20, spec["shape"]) if spec["dtype"] == np.int32 else (
            scale * draw.normal(size=spec["shape"]))  # fmt: skip
        results = []
        for runner in runners:
            runner.set_tensor(runner.get_input_details()[0]["index"], value.astype(spec["dtype"]))
            runner.invoke()
            results.append(runner.get_tensor(runner.get_output_details()[0]["index"]))
        if results[0].shape != results[1].shape:
            return float("inf")
        off = np.abs(results[0] - results[1]).max() / max(np.abs(results[0]).max(), 1e-9)
        largest = max(largest, float(off))
    return largest


if __name__ == "__main__":
    raise SystemExit(main())
