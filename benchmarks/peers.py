"""isomorph beside the layerwise comparison that people use today: time, memory, and what they say.

Four pairs of one network (PyTorch, exported to ONNX): the file as exported, the same with a fault
planted in one attribute deep inside, and both of these again after an optimizer has folded and
renamed them. Polygraphy compares ONNX Runtime on two files by two commands, every tensor marked as
an output: it has no other reference than the exported file. isomorph compares the PyTorch program
with the file, and says which node is wrong and why.

With ``--small``, every tool that converters and runtimes bring (`peer_tools/`) is asked about small
pairs with known faults; docs/comparison.md has the table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import Ran, run
from measuring.tables import RESULTS, table, write_json
from networks.altered import folded_and_renamed, with_fault
from networks.files import Files

_LOOK = ("--onnxrt", "--onnx-outputs", "mark", "all")
TITLES = ("pair", "tool", "time", "CPU", "peak memory", "right", "says")
_FAILED = re.compile(r"FAILED \| Output: '([^']+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A file to hold against the network, and the node that is wrong in it, if one is."""

    title: str
    candidate: Path
    faulty_node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One tool on one pair. ``right`` is whether what it says is so."""

    pair: str
    tool: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    says: str
    right: bool


def pairs(files: Files, folder: Path) -> list[Pair]:
    """The file as exported and with a fault, each also folded and renamed."""
    faulty = folder / "faulty.onnx"
    faulty_node = with_fault(files.candidate, faulty)
    found = []
    for title, source, node in (
        ("as exported", files.candidate, None),
        ("as exported, a fault", faulty, faulty_node),
    ):
        found.append(Pair(title=title, candidate=source, faulty_node=node))
    for pair in list(found):
        target = folder / f"folded_{pair.candidate.name}"
        renamed = folded_and_renamed(pair.candidate, target)
        node = None if pair.faulty_node is None else _heir(pair, renamed, target)
        title = pair.title.replace("as exported", "folded and renamed")
        found.append(Pair(title=title, candidate=target, faulty_node=node))
    return found


def _heir(pair: Pair, renamed: dict[str, str], target: Path) -> str:
    """The node that the faulty one has become: the one that reads what it read."""
    import onnx

    before = onnx.load(pair.candidate, load_external_data=False).graph
    (read,) = (node.input[0] for node in before.node if node.name == pair.faulty_node)
    after = onnx.load(target, load_external_data=False).graph
    return next(
        str(node.name)
        for node in after.node
        if node.input[0] == renamed.get(read, read) and "Conv" in node.op_type
    )


def by_isomorph(files: Files, pair: Pair, option: str = "--inputs") -> Measured:
    """The whole command, on one set of inputs, as Polygraphy draws one, or on a test set."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [sys.executable, "-m", "isomorph", "check", str(files.reference)]
        words += [str(pair.candidate), option, str(files.inputs)]
        words += ["--format", "json", "--output", str(report)]
        ran = run(words, folder=Path(folder))
        if not report.exists():
            return _measured("isomorph", pair, [ran], f"exit {ran.returncode}", right=False)
        facts = json.loads(report.read_text(encoding="utf-8"))
    located = [found for found in facts["findings"] if found.get("node") and found.get("cause")]
    says = facts["verdict"]
    if located:
        first = located[0]
        says += f": {first['node']}, {first['cause']}, {first['status']}"
    if pair.faulty_node is None:
        right = facts["verdict"] == "equivalent"
    else:
        right = bool(located) and located[0]["node"] == pair.faulty_node
    return _measured("isomorph", pair, [ran], says, right=right)


def by_polygraphy(files: Files, pair: Pair) -> Measured:
    """Every tensor of the exported file saved, then those of the other file held against them."""
    tool = str(Path(sys.executable).with_name("polygraphy"))
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "outputs.json")
        first = run(
            [tool, "run", str(files.candidate), *_LOOK, "--save-outputs", saved],
            folder=Path(folder),
        )
        second = run(
            [tool, "run", str(pair.candidate), *_LOOK, "--load-outputs", saved],
            folder=Path(folder),
        )
    failed = _FAILED.findall(second.text)
    compared = second.text.count("Comparing Output: '")
    says = f"{compared} tensors compared, {len(failed)} fail"
    if failed:
        says += f", the first {failed[0]}"
    elif second.returncode:
        says += f", exit {second.returncode}"
    passed = second.returncode == 0 and not failed
    right = passed if pair.faulty_node is None else bool(failed) and failed[0] == _output_of(pair)
    return _measured("Polygraphy", pair, [first, second], says, right=right)


def _output_of(pair: Pair) -> str:
    import onnx

    graph = onnx.load(pair.candidate, load_external_data=False).graph
    return next(str(node.output[0]) for node in graph.node if node.name == pair.faulty_node)


def _measured(tool: str, pair: Pair, ran: list[Ran], says: str, *, right: bool) -> Measured:
    return Measured(
        pair=pair.title,
        tool=tool,
        seconds=sum(each.seconds for each in ran),
        cpu_seconds=sum(each.cpu_seconds for each in ran),
        peak_bytes=max(each.peak_bytes for each in ran),
        says=says,
        right=right,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--brief", action="store_true", help="a small network: rough figures, soon")
    parser.add_argument("--small", action="store_true", help="every tool, on its small pairs")
    parser.add_argument("--only", nargs="*", default=(), help="with --small: these pairs alone")
    given = parser.parse_args()
    if given.small:
        _small_pairs(given.only)
        return
    files = _network(brief=given.brief)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in pairs(files, Path(folder)):
            print(f"… {files.name}, {pair.title}", flush=True)
            rows += [by_polygraphy(files, pair), by_isomorph(files, pair)]
    print(table(TITLES, [shown(row) for row in rows]))
    _tell(rows)
    write_json("peers_brief" if given.brief else "peers", {
        "network": files.name, "rows": [asdict(row) for row in rows],
    })  # fmt: skip


def _small_pairs(only: Sequence[str]) -> None:
    from peer_tools import table as every_tool

    folder = RESULTS / "peer_pairs"
    folder.mkdir(parents=True, exist_ok=True)
    every_tool.with_packages(RESULTS / "peer_packages")
    for reason in every_tool.made(folder):
        print(f"not made: {reason}")
    rows = []
    for row in every_tool.rows(folder, only):
        print(f"… {row.pair}, {row.tool}: {row.answer.says or row.answer.skipped}", flush=True)
        rows.append(row)
    print(table(every_tool.TITLES, [every_tool.shown(row) for row in rows]))
    write_json(
        "peers_small_part" if only else "peers_small", {"rows": [asdict(row) for row in rows]}
    )


def _network(*, brief: bool) -> Files:
    from networks.few_blocks import FEW_BLOCKS
    from networks.torch_networks import NETWORKS, written

    return written(FEW_BLOCKS if brief else NETWORKS[0])


def _tell(rows: list[Measured]) -> None:
    clean = {row.tool: row for row in rows if row.pair == "as exported"}
    own, other = clean["isomorph"], clean["Polygraphy"]
    time_, memory = own.seconds / other.seconds, own.peak_bytes / other.peak_bytes
    print(f"isomorph takes {time_:.2f} of Polygraphy's time and {memory:.2f} of its memory")


def shown(row: Measured) -> tuple[str, ...]:
    """The cells of a row, after the pair and the tool."""
    return (
        row.pair,
        row.tool,
        f"{row.seconds:.1f} s",
        f"{row.cpu_seconds:.1f} s",
        f"{row.peak_bytes / 1e6:.0f} MB",
        "yes" if row.right else "no",
        row.says,
    )


if __name__ == "__main__":
    main()
