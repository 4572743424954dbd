"""What a check costs per node: a chain and a wide graph of ever more ONNX nodes.

Time and memory per node are to stay flat, up to 100,000 nodes. With --brief the graphs are small
enough for a minute, and the results go to a file of their own. The growth is that of the last step,
without what every check costs: 1 is linear, 2 quadratic. ONNX Runtime opens the file once for each
side; what that takes is measured apart and left out of the growth.

With --weights GB, a stack of large products with so many gigabytes of external weights is checked
instead, against the same weights under other names and with --memory 4GiB. The files take as much
of the temporary folder, and are deleted afterwards. What the processes hold of their own is shown
beside what they hold with the pages of the mapped files, which the system takes back at need.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
from measuring.processes import run
from measuring.tables import table, write_json
from onnx import TensorProto, helper, numpy_helper

BRIEF = (1_000, 3_000, 10_000)
WHOLE = (10_000, 30_000, 100_000)
_OPERATORS = ("Relu", "Neg", "Tanh", "Add")
_BRANCH = 19
_CONSTANTS = 7
_WIDTH = 4
_ROWS = 4096
_MEMORY = "4GiB"
_OPEN = """
import sys, time, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
started = time.process_time()
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(time.process_time() - started)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check of a graph against itself."""

    graph: str
    nodes: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    opening_cpu_seconds: float
    """What ONNX Runtime takes of the CPU time to open the file for both sides."""

    @property
    def own_cpu_seconds(self) -> float:
        """The CPU time of everything else."""
        return self.cpu_seconds - self.opening_cpu_seconds


def chain(count: int) -> list[onnx.NodeProto]:
    """Each node reads the one before."""
    return _branch("x", "t", count)


def wide(count: int) -> list[onnx.NodeProto]:
    """Many branches of one input, added up in pairs."""
    nodes, ends = [], []
    for place in range(max(2, count // (_BRANCH + 1))):
        nodes += _branch("x", f"b{place}_", _BRANCH)
        ends.append(nodes[-1].output[0])
    while len(ends) > 1:
        pairs = list(zip(ends[::2], ends[1::2], strict=False))
        sums = [f"sum{len(nodes) + place}" for place in range(len(pairs))]
        nodes += [
            helper.make_node("Add", list(pair), [name], name=name)
            for pair, name in zip(pairs, sums, strict=True)
        ]
        ends = sums + ends[2 * len(pairs) :]
    return nodes


GRAPHS: dict[str, Callable[[int], list[onnx.NodeProto]]] = {"chain": chain, "wide": wide}


def _branch(start: str, prefix: str, count: int) -> list[onnx.NodeProto]:
    nodes, before = [], start
    for place in range(count):
        op = _OPERATORS[place % len(_OPERATORS)]
        inputs = [before, f"c{place % _CONSTANTS}"] if op == "Add" else [before]
        before = f"{prefix}{place}"
        nodes.append(helper.make_node(op, inputs, [before], name=f"node_{before}"))
    return nodes


def write(nodes: list[onnx.NodeProto], path: Path) -> int:
    """Write a model of these nodes; return their number."""
    constants = [
        numpy_helper.from_array(np.full(_WIDTH, 0.01 * (place + 1), np.float32), f"c{place}")
        for place in range(_CONSTANTS)
    ]
    specs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, _WIDTH])
        for name in ("x", nodes[-1].output[0])
    ]
    graph = helper.make_graph(nodes, "large", specs[:1], specs[1:], constants)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return len(nodes)


def check(name: str, count: int, folder: Path) -> Checked:
    """Check a graph of about so many nodes against itself."""
    path = folder / f"{name}{count}.onnx"
    nodes = write(GRAPHS[name](count), path)
    ran = run([sys.executable, "-m", "isomorph", "check", str(path), str(path)], folder=folder)
    if ran.returncode:
        raise RuntimeError(f"the check of {path.name} ended with {ran.returncode}: {ran.tail}")
    return Checked(
        graph=name,
        nodes=nodes,
        cpu_seconds=ran.cpu_seconds,
        wall_seconds=ran.seconds,
        peak_bytes=ran.peak_bytes,
        opening_cpu_seconds=2 * _opening(path),
    )


def _opening(path: Path) -> float:
    words = [sys.executable, "-c", _OPEN, str(path)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def write_stack(gigabytes: float, folder: Path) -> tuple[Path, Path]:
    """Write two models of the same products that share a file of external weights."""
    size = _ROWS * _ROWS * 4
    count = max(1, round(gigabytes * 1e9 / size))
    drawn = np.random.default_rng(0).standard_normal(_ROWS * _ROWS, np.float32)
    drawn *= np.float32(math.sqrt(2 / _ROWS))
    with (folder / "weights.bin").open("wb") as file:
        for place in range(count):
            # No two are the same, and none has to be drawn.
            file.write(np.roll(drawn, place * 4099).data)
    paths = folder / "reference.onnx", folder / "candidate.onnx"
    for path in paths:
        onnx.save(_stack(count, size, prefix=path.stem), path)
    return paths


def _stack(count: int, size: int, prefix: str) -> onnx.ModelProto:
    nodes, weights, before = [], [], "x"
    for place in range(count):
        weight = TensorProto(
            name=f"{prefix}_weight{place}", data_type=TensorProto.FLOAT, dims=[_ROWS, _ROWS]
        )
        weight.data_location = TensorProto.EXTERNAL
        where = {"location": "weights.bin", "offset": place * size, "length": size}
        for key, value in where.items():
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        product, after = f"{prefix}_product{place}", f"{prefix}_relu{place}"
        nodes.append(helper.make_node("MatMul", [before, weight.name], [product], name=product))
        before = "y" if place == count - 1 else after
        nodes.append(helper.make_node("Relu", [product], [before], name=after))
    specs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, _ROWS]) for each in "xy"]
    graph = helper.make_graph(nodes, "stack", specs[:1], specs[1:], weights)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def check_weights(gigabytes: float) -> None:
    """Check a stack of products with so many gigabytes of weights within limited memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference, candidate = write_stack(gigabytes, folder)
        words = [sys.executable, "-m", "isomorph", "check", str(reference), str(candidate)]
        ran = run([*words, "--memory", _MEMORY], folder=folder)
    verdict = "equivalent" if not ran.returncode else f"exit {ran.returncode}: {ran.tail}"
    row = (
        f"{gigabytes:g} GB", f"{ran.cpu_seconds:.0f} s", f"{ran.seconds:.0f} s",
        f"{ran.own_peak_bytes / 1e9:.2f} GB", f"{ran.peak_bytes / 1e9:.2f} GB", verdict,
    )  # fmt: skip
    titles = ("weights", "CPU", "wall", "own memory of all", "with pages of files", "verdict")
    print(table(titles, [row]))
    facts = {"gigabytes": gigabytes, "cpu_seconds": ran.cpu_seconds, "wall_seconds": ran.seconds,
             "own_peak_bytes": ran.own_peak_bytes, "peak_bytes": ran.peak_bytes,
             "verdict": verdict}  # fmt: skip
    write_json("large_weights", facts)


def growth(rows: list[Checked], figure: Callable[[Checked], float]) -> float:
    """Return the power of the number of nodes by which a figure grew in the last step."""
    first, *_, before, last = rows
    base = figure(first)
    # What a check of any graph costs, by the line through the first two sizes.
    fixed = base - first.nodes * (figure(before) - base) / (before.nodes - first.nodes)
    grown = (figure(last) - fixed) / max(figure(before) - fixed, 1e-9)
    return math.log(max(grown, 1e-9)) / math.log(last.nodes / before.nodes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--brief", action="store_true", help=f"up to {BRIEF[-1]:,} nodes alone")
    parser.add_argument("--only", choices=tuple(GRAPHS), help="one kind of graph alone")
    parser.add_argument("--weights", type=float, metavar="GB", help="external weights instead")
    given = parser.parse_args()
    if given.weights:
        check_weights(given.weights)
        return
    sizes = BRIEF if given.brief else WHOLE
    rows: list[Checked] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in [given.only] if given.only else list(GRAPHS):
            for count in sizes:
                print(f"… {name} of {count:,} nodes", flush=True)
                rows.append(check(name, count, Path(folder)))
    titles = (
        "graph", "nodes", "CPU", "opening", "others per node", "wall", "peak memory", "per node",
    )  # fmt: skip
    print(table(titles, [_shown(each) for each in rows]))
    for name in dict.fromkeys(each.graph for each in rows):
        own = [each for each in rows if each.graph == name]
        time_ = growth(own, lambda each: each.own_cpu_seconds)
        memory = growth(own, lambda each: float(each.peak_bytes))
        opening = growth(own, lambda each: each.opening_cpu_seconds)
        print(
            f"{name}: CPU time grows with power {time_:.2f}, memory with {memory:.2f}, "
            f"what ONNX Runtime takes to open the file with {opening:.2f}"
        )
    found = "large_graphs-brief" if given.brief else "large_graphs"
    write_json(found, {"rows": [asdict(each) for each in rows]})


def _shown(row: Checked) -> tuple[str, ...]:
    return (
        row.graph,
        f"{row.nodes:,}",
        f"{row.cpu_seconds:.1f} s",
        f"{row.opening_cpu_seconds:.1f} s",
        f"{1e3 * row.own_cpu_seconds / row.nodes:.2f} ms",
        f"{row.wall_seconds:.1f} s",
        f"{row.peak_bytes / 1e6:.0f} MB",
        f"{row.peak_bytes / row.nodes / 1e3:.1f} kB",
    )


if __name__ == "__main__":
    main()
