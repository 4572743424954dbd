"""What a check costs per node: a chain and a wide graph of ever more ONNX nodes.

Time and memory per node are to stay flat, up to 100,000 nodes. With --brief the graphs are small
enough for a minute, and the results go to a file of their own. The growth is that of the last step,
without what every check costs: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import math
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check of a graph against itself."""

    graph: str
    nodes: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


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
    )


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
    given = parser.parse_args()
    sizes = BRIEF if given.brief else WHOLE
    rows: list[Checked] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in [given.only] if given.only else list(GRAPHS):
            for count in sizes:
                print(f"… {name} of {count:,} nodes", flush=True)
                rows.append(check(name, count, Path(folder)))
    titles = ("graph", "nodes", "CPU", "per node", "wall", "peak memory", "per node")
    print(table(titles, [_shown(each) for each in rows]))
    for name in dict.fromkeys(each.graph for each in rows):
        own = [each for each in rows if each.graph == name]
        time_ = growth(own, lambda each: each.cpu_seconds)
        memory = growth(own, lambda each: float(each.peak_bytes))
        print(f"{name}: CPU time grows with power {time_:.2f}, memory with {memory:.2f}")
    found = "large_graphs-brief" if given.brief else "large_graphs"
    write_json(found, {"rows": [asdict(each) for each in rows]})


def _shown(row: Checked) -> tuple[str, ...]:
    return (
        row.graph,
        f"{row.nodes:,}",
        f"{row.cpu_seconds:.1f} s",
        f"{1e3 * row.cpu_seconds / row.nodes:.2f} ms",
        f"{row.wall_seconds:.1f} s",
        f"{row.peak_bytes / 1e6:.0f} MB",
        f"{row.peak_bytes / row.nodes / 1e3:.1f} kB",
    )


if __name__ == "__main__":
    main()
