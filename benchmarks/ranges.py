"""Ranges that are proven, and overflows that are found.

Two questions. A transformer adds more and more to its residual stream at one layer: is the overflow
of float16 found, is that layer named, and does its input overflow in a run in float16? And networks
that are proven safe: does any of 10,000 random inputs of the stated range give an Inf or NaN there?
With --brief, there are fewer of both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measuring.tables import table, write_json

_SEEDS, _INPUTS = 8, 10_000
_BRIEF_SEEDS, _BRIEF_INPUTS = 2, 500
_LOW, _HIGH = -2.0, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A transformer whose layer ``layer`` overflows on few inputs."""

    seed: int
    layer: int
    reachable: float
    verdict: str
    named: str
    right_layer: bool
    narrow: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A network that is proven safe, run in float16."""

    network: str
    seed: int
    tensors: int
    largest_bound: float
    inputs: int
    not_finite: int


def transformer(seed: int, layer: int, factor: float) -> Any:
    """Four layers with attention; one adds numbers that are larger by a factor."""
    import torch

    torch.manual_seed(seed)

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)
            self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
            self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.norm1(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))

    module = torch.nn.Sequential(*(Block() for _ in range(4)))
    with torch.no_grad():
        module[layer].down.weight.mul_(factor)
    return module.eval()


def network(seed: int) -> Any:
    """A small convolutional network."""
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 16, 3), torch.nn.SiLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 4),
    ).eval()  # fmt: skip


def exported(module: Any, shape: tuple[int, ...], path: Path) -> str:
    """The module as an ONNX file."""
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (torch.zeros(shape),), path, dynamo=False, input_names=["x"], opset_version=17
        )
    return str(path)


def reach(module: Any, layer: int, shape: tuple[int, ...], seed: int) -> float:
    """What a layer adds at most on 256 random inputs."""
    import torch

    found: list[float] = []
    module[layer].down.register_forward_hook(lambda *each: found.append(float(each[2].abs().max())))
    torch.manual_seed(seed)
    with torch.no_grad():
        for _ in range(256):
            module(torch.rand(shape) * (_HIGH - _LOW) + _LOW)
    return max(found)


def searched(seed: int, folder: Path) -> Searched:
    """Look for the overflow of a layer whose random inputs reach nine tenths of the type."""
    import isomorph

    layer, shape = seed % 4, (1, 4, 16)
    usual = reach(transformer(seed, layer, 1e4), layer, shape, seed)
    factor = 1e4 * 0.9 * 65504 / usual
    path = exported(transformer(seed, layer, factor), shape, folder / f"t{seed}.onnx")
    found = isomorph.ranges(path, ranges={"x": (_LOW, _HIGH)}, to="float16", seed=seed)
    shown = found.overflows[0] if found.overflows else None
    name = shown.tensor if shown is not None else ""
    return Searched(
        seed=seed,
        layer=layer,
        reachable=0.9,
        verdict={0: "safe", 1: "overflow", 3: "open"}[found.exit_code],
        named=name,
        right_layer=name.startswith(f"/{layer}/down"),
        narrow=str(shown.narrow_value) if shown is not None else "",
        runs=found.evaluations,
    )


def proven(kind: str, seed: int, folder: Path, count: int) -> Proven | None:
    """Run a network in float16 that is proven safe; None where it is not proven."""
    import numpy as np
    import onnx
    import onnxruntime
    from onnxruntime.transformers.float16 import convert_float_to_float16

    import isomorph

    shape = (1, 3, 12, 12) if kind == "convolutions" else (1, 4, 16)
    module = network(seed) if kind == "convolutions" else transformer(seed, seed % 4, 200.0)
    path = exported(module, shape, folder / f"{kind}{seed}.onnx")
    found = isomorph.ranges(path, ranges={"x": (_LOW, _HIGH)}, to="float16", seed=seed)
    if found.exit_code != 0:
        return None
    narrow = convert_float_to_float16(onnx.load(path), keep_io_types=True)
    for node in narrow.graph.node:
        narrow.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    options = onnxruntime.SessionOptions()
    # Optimizers would compute in float32 between two casts.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        narrow.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    random, wrong = np.random.default_rng(seed), 0
    for _ in range(count):
        x = random.uniform(_LOW, _HIGH, shape).astype(np.float32)
        results = (np.asarray(each) for each in session.run(None, {"x": x}))
        wrong += not all(np.isfinite(each).all() for each in results if each.dtype.kind == "f")
    wrong += stored_narrowly(module, shape, seed, count)
    return Proven(
        network=kind,
        seed=seed,
        tensors=len(found.tensors),
        largest_bound=max(max(abs(each.lower), abs(each.upper)) for each in found.tensors),
        inputs=count,
        not_finite=wrong,
    )


def stored_narrowly(module: Any, shape: tuple[int, ...], seed: int, count: int) -> int:
    """Runs of PyTorch in float16, which stores every result, with an Inf or NaN in a layer."""
    import torch

    seen: list[Any] = []

    def note(_: object, __: object, given: Any) -> None:
        first = given[0] if isinstance(given, tuple) else given
        seen.append(torch.isfinite(first).flatten(1).all(dim=1))

    narrow, wrong = module.half(), 0
    for each in narrow.modules():
        each.register_forward_hook(note)
    torch.manual_seed(seed)
    with torch.no_grad():
        for _ in range(0, count, 500):
            seen.clear()
            narrow((torch.rand((500, *shape[1:])) * (_HIGH - _LOW) + _LOW).half())
            wrong += int((~torch.stack(seen).all(dim=0)).sum())
    return wrong


def main() -> int:
    """Print both tables; exit 1 where a proof is refuted by a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="a few networks and inputs")
    brief = parser.parse_args().brief
    seeds, count = (_BRIEF_SEEDS, _BRIEF_INPUTS) if brief else (_SEEDS, _INPUTS)
    with tempfile.TemporaryDirectory() as folder:
        overflows = [searched(seed, Path(folder)) for seed in range(seeds)]
        rows = [[str(value) for value in asdict(each).values()] for each in overflows]
        print(table(list(asdict(overflows[0])), rows), flush=True)
        kinds = [(kind, seed) for kind in ("convolutions", "transformer") for seed in range(seeds)]
        made = [proven(kind, seed, Path(folder), count) for kind, seed in kinds]
    safe = [each for each in made if each is not None]
    if safe:
        print(table(list(asdict(safe[0])), [[str(v) for v in asdict(e).values()] for e in safe]))
    found = sum(each.verdict == "overflow" for each in overflows)
    right = sum(each.right_layer for each in overflows)
    wrong = sum(each.not_finite for each in safe)
    print(f"overflow found for {found} of {len(overflows)}, with the right layer for {right}")
    print(f"proven safe: {len(safe)} of {len(made)}; runs in float16 with an Inf or NaN: {wrong}")
    write_json(
        "ranges-brief" if brief else "ranges",
        {"overflows": [asdict(e) for e in overflows], "safe": [asdict(e) for e in safe]},
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
