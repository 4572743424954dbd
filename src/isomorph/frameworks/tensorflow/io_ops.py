"""Operators that read files, write files or run Python, and whether a graph holds any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.frameworks.tensorflow.file_structure import (
    WireGraph,
    WireNode,
    read_graph,
    read_saved_model,
)
from isomorph.store.file_signatures import not_a_model
from isomorph.store.protobuf import BrokenWireError

CHECKPOINTS = frozenset(
    {"Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2", "MergeV2Checkpoints"}
)
"""What every SavedModel's own saver needs, and an inference function does not."""

FILES = CHECKPOINTS | {
    "ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "PyFuncStateless", "EagerPyFunc",
    "InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "TextLineReader",
    "TextLineReaderV2", "TFRecordReader", "TFRecordReaderV2", "FixedLengthRecordReader",
    "FixedLengthRecordReaderV2", "WholeFileReader", "WholeFileReaderV2", "LMDBReader",
    "TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2", "CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset",
    "SqlDataset", "ExperimentalSqlDataset", "LMDBDataset", "ExperimentalLMDBDataset",
    "SaveDataset", "SaveDatasetV2", "LoadDataset", "ListDataset", "SnapshotDataset",
    "SnapshotDatasetV2", "CacheDataset", "CacheDatasetV2", "GeneratorDataset",
    "CreateSummaryFileWriter", "CreateSummaryDbWriter", "DecodeProtoV2", "EncodeProto",
    "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNanCount",
    "DebugNumericSummary", "DebugNumericSummaryV2", "RpcCall", "RpcClient", "RpcServer",
    "LoadLibrary", "FileSystemSetConfiguration", "CloudBigtableClient", "BigQueryReader",
}  # fmt: skip

_PRINT = "PrintV2"
_HEAD_BYTES = 4096


def refuse_io_in_saved_model(path: Path) -> None:
    """Refuse a SavedModel that would read, write or call Python outside its own saver."""
    for graph in _read(path, read_saved_model):
        _refuse(path, _suspects(graph))


def refuse_absent_weights(folder: Path) -> None:
    """Refuse a SavedModel whose weights are still pointers of Git LFS."""
    for path in sorted((folder / "variables").glob("*")):
        with path.open("rb") as file:
            verdict = not_a_model(file.read(_HEAD_BYTES))
        if verdict is not None:
            raise verdict.error(path)


def refuse_io_in_graph(path: Path) -> None:
    """Refuse a frozen graph that would read, write or call Python."""
    for graph in _read(path, lambda data: [read_graph(data)]):
        _refuse(path, _suspects(graph))


def _read(path: Path, reader: Callable[[bytes], list[WireGraph]]) -> list[WireGraph]:
    data = path.read_bytes()
    if (verdict := not_a_model(data[:_HEAD_BYTES])) is not None:
        raise verdict.error(path)
    try:
        graphs = reader(data)
    except BrokenWireError as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED", "the graph is cut off or damaged", file=str(path),
            where=f"byte {error.offset} of {len(data)}", fix="export or download it again",
        ) from error  # fmt: skip
    if not any(graph.nodes or graph.functions for graph in graphs):
        raise UnreadableModelError(
            "MODEL_EMPTY" if not data else "MODEL_TRUNCATED", "the file holds no graph",
            file=str(path), where=f"{len(data)} bytes",
        )  # fmt: skip
    return graphs


def _suspects(graph: WireGraph) -> dict[str, str]:
    """Operators that touch the world, each with one node that does it."""
    of_saver = _saver_nodes(graph)
    ordinary = [node for node in graph.nodes if node.name not in of_saver]
    by_saver = _called(graph, [node for node in graph.nodes if node.name in of_saver])
    # What nobody in the graph calls may still be called through the model's Python objects.
    uncalled = set(graph.functions) - by_saver - _called(graph, ordinary)
    reached = _called(graph, ordinary) | uncalled
    reached |= _called(graph, [node for name in uncalled for node in graph.functions[name]])
    found: dict[str, str] = {}
    strict = [*ordinary, *(node for name in reached for node in graph.functions.get(name, ()))]
    lenient = [node for name in by_saver - reached for node in graph.functions.get(name, ())]
    for node in strict:
        if node.op in FILES or _prints_to_file(node):
            found.setdefault(node.op, node.name)
    for node in (*lenient, *(node for node in graph.nodes if node.name in of_saver)):
        if node.op in FILES - CHECKPOINTS or _prints_to_file(node):
            found.setdefault(node.op, node.name)
    return found


def _prints_to_file(node: WireNode) -> bool:
    return node.op == _PRINT and any(text.startswith("file:") for text in node.texts)


def _saver_nodes(graph: WireGraph) -> set[str]:
    """Nodes that only the saver needs: above its operations, and above no output."""
    by_name = {node.name: node for node in graph.nodes}
    return _above(by_name, graph.savers) - _above(by_name, graph.outputs)


def _above(by_name: dict[str, WireNode], names: Iterable[str]) -> set[str]:
    waiting, found = [name for name in names if name in by_name], set[str]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        read = (each.removeprefix("^").partition(":")[0] for each in by_name[name].inputs)
        waiting += [each for each in read if each in by_name]
    return found


def _called(graph: WireGraph, nodes: Iterable[WireNode]) -> set[str]:
    """Functions that these nodes reach."""
    waiting = [name for node in nodes for name in (*node.functions, node.op)]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or name not in graph.functions:
            continue
        found.add(name)
        waiting += [each for node in graph.functions[name] for each in (*node.functions, node.op)]
    return found


def _refuse(path: Path, found: dict[str, str]) -> None:
    if not found:
        return
    listed = ", ".join(f"{op} (node {node!r})" for op, node in sorted(found.items())[:5])
    raise RefusedError(
        "IO_OP_IN_GRAPH", "refused to load a graph that reaches outside itself", file=str(path),
        where=listed,
        why="these operators read or write files or call Python when the graph runs",
        fix="if you trust the file, add --trust",
    )  # fmt: skip
