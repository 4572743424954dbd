"""How many nodes must stay in float32, and what is lost: three ways to make a float16 model.

``isomorph convert --precision float16`` searches by measurement. ONNX Runtime's converter keeps
operators of a fixed list. ModelOpt's AutoCast, if it is installed, keeps nodes whose numbers are
beyond fixed limits. The first and the last get the same eight samples. Each model is evaluated by
ONNX's reference evaluator, which rounds every float16 tensor, on inputs that none of the three has
seen; the loss is the largest relative L2 distance of its outputs from the float32 model's. With
--brief, two networks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir
from measuring.tables import table, write_json
from networks.narrow_networks import NETWORKS, NarrowNetwork
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

_INPUTS, _SAMPLES, _BRIEF = 64, 8, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """What one converter made of one network; ``kept`` counts nodes that compute in float32."""

    network: str
    converter: str
    nodes: int
    kept: int
    loss: float
    not_finite: int


def by_isomorph(source: Path, target: Path, data: Path) -> None:
    """The search of ``convert --precision``."""
    import isomorph

    isomorph.convert(str(source), str(target), precision="float16", data=data, keep=True)


def by_onnxruntime(source: Path, target: Path, _: Path) -> None:
    """The converter of ONNX Runtime with its own list of operators."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def by_autocast(source: Path, target: Path, data: Path) -> None:
    """ModelOpt with its own limits."""
    from modelopt.onnx.autocast import convert_to_mixed_precision  # type: ignore[import-not-found]

    made = convert_to_mixed_precision(
        str(source), low_precision_type="fp16", keep_io_types=True, calibration_data=str(data)
    )
    onnx.save(made, target)


CONVERTERS: Mapping[str, Callable[[Path, Path, Path], None]] = {
    "isomorph": by_isomorph,
    "ONNX Runtime": by_onnxruntime,
    "AutoCast": by_autocast,
}


def kept_in_float32(source: onnx.ModelProto, narrow: onnx.ModelProto) -> tuple[int, int]:
    """How many nodes of the source compute with real numbers, and how many stay in float32."""
    reals = {node.name for node in source.graph.node if _floats(source, node)}
    kept = [node for node in narrow.graph.node if node.name in reals and _floats(narrow, node)]
    return len(reals), len(kept)


def _floats(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Whether a node reads or writes float32; constants and casts compute nothing."""
    if node.op_type in ("Constant", "Cast", "Identity"):
        return False
    types = _types(model)
    return any(types.get(name) == onnx.TensorProto.FLOAT for name in (*node.input, *node.output))


def _types(model: onnx.ModelProto) -> dict[str, int]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    found = {each.name: each.data_type for each in graph.initializer}
    for each in (*graph.input, *graph.output, *graph.value_info):
        found[each.name] = each.type.tensor_type.elem_type
    return found


def measured(
    network: NarrowNetwork, converter: str, source: Path, target: Path, data: Path
) -> Narrowed | None:
    """Convert, count and evaluate; None where the converter is not installed."""
    try:
        CONVERTERS[converter](source, target, data)
    except ImportError:
        return None
    wide, narrow = onnx.load(source), in_order(onnx.load(target))
    nodes, kept = kept_in_float32(wide, narrow)
    random, losses, wrong = np.random.default_rng(1), [], 0
    runs = [ReferenceEvaluator(each, new_ops=[LayerNormalization]) for each in (wide, narrow)]
    for _ in range(_INPUTS):
        feeds = network.inputs(random)
        expected, given = (_run(each, feeds) for each in runs)
        wrong += not np.isfinite(given).all()
        losses.append(float(np.linalg.norm(given - expected) / np.linalg.norm(expected)))
    return Narrowed(network=network.name, converter=converter, nodes=nodes, kept=kept,
                    loss=max(losses), not_finite=wrong)  # fmt: skip


class LayerNormalization(OpRun):
    """With mean and variance in float32, as ``stash_type`` demands and the evaluator does not."""

    op_domain = ""

    def _run(  # type: ignore[no-untyped-def]
        self, x, scale, bias, axis=None, epsilon=None, stash_type=None
    ):
        wide = x.astype(np.float32)
        axes = tuple(range(axis % x.ndim, x.ndim))
        centered = wide - wide.mean(axis=axes, keepdims=True)
        deviation = np.sqrt(np.square(centered).mean(axis=axes, keepdims=True) + epsilon)
        return ((centered / deviation).astype(x.dtype) * scale + bias,)


def in_order(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every node behind those that it reads, as the reference evaluator needs it."""
    made = onnx_ir.from_proto(model)
    made.graph.sort()
    return onnx_ir.to_proto(made)


def _run(evaluator: Any, feeds: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The first output in float64; an overflow is a result here."""
    types = dict(zip(evaluator.input_names, evaluator.input_types, strict=True))
    typed = {
        name: value.astype(onnx.helper.tensor_dtype_to_np_dtype(types[name].tensor_type.elem_type))
        for name, value in feeds.items()
    }
    with np.errstate(all="ignore"):
        return np.asarray(evaluator.run(None, typed)[0], np.float64)


def main() -> int:
    """Print one row for each network and converter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="two networks")
    chosen = NETWORKS[:_BRIEF] if parser.parse_args().brief else NETWORKS
    rows: list[Narrowed] = []
    with tempfile.TemporaryDirectory() as folder:
        for network in chosen:
            source = Path(folder) / f"{network.name}.onnx"
            onnx.save(network.model(), source)
            data = source.with_suffix(".data")
            data.mkdir()
            random = np.random.default_rng(0)
            for place in range(_SAMPLES):
                np.savez(data / f"{place}.npz", **network.inputs(random))
            for converter in CONVERTERS:
                target = source.with_name(f"{network.name} {converter}.onnx")
                row = measured(network, converter, source, target, data)
                if row is not None:
                    rows.append(row)
                    print(f"… {row}", flush=True)
    titles = ("network", "converter", "float nodes", "in float32", "loss", "runs with Inf or NaN")
    shown = [[each.network, each.converter, str(each.nodes), str(each.kept), f"{each.loss:.2e}",
              f"{each.not_finite} of {_INPUTS}"] for each in rows]  # fmt: skip
    print(table(titles, shown))
    name = "mixed_precision-brief" if len(chosen) < len(NETWORKS) else "mixed_precision"
    write_json(name, {"rows": [asdict(each) for each in rows]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
