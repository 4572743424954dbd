"""Every reader of isomorph, with the files that it is given and what it does with them.

A reader is called as commands call it. It may return or raise an ``IsomorphError``; anything else
is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .mutations import Specimen

SEEDS = Path(__file__).parent / "seeds"
EARLIER_REPORTS = "../../../tests/unit/store/earlier_reports/*.json"


@dataclass(frozen=True, slots=True)
class Reader:
    """``read`` gets the path of a file or folder. ``needs`` is the package that it imports."""

    seeds: tuple[str, ...]
    read: Callable[[Path], object]
    needs: str | None = None
    entry: str | None = None
    """The file in the folder that is read; None for the folder itself."""
    native: bool = False
    """Whether native code reads the same bytes; commands do it in a worker, which may end."""

    def specimens(self) -> Iterator[tuple[str, Specimen]]:
        """The intact files by name; a folder is one specimen."""
        for pattern in self.seeds:
            found = sorted(SEEDS.glob(pattern))
            assert found, f"no seed {pattern}"
            for path in found:
                yield str(path.relative_to(SEEDS)), loaded(path)


def loaded(path: Path) -> Specimen:
    """A file as one member with an empty folder name, or a folder with all its files."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return {f"{path.name}/{each.relative_to(path).as_posix()}": each.read_bytes() for each in files}


def _identify(path: Path) -> None:
    from isomorph.store.format_detection import identify, model_path, source_kind, suffix_note

    source_kind(str(path))
    found = model_path(path)
    suffix_note(found, identify(found))


def _framework(name: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        from isomorph import registry
        from isomorph.store.codec import encode

        model = registry.framework(name).load(str(path), {})
        encode(model.graph)  # what the parent process gets

    return read


def _tflite(path: Path) -> None:
    from isomorph.frameworks.tflite.describe import describe, notes_on
    from isomorph.frameworks.tflite.framework import _metadata
    from isomorph.frameworks.tflite.read import loaded
    from isomorph.store.model_bytes import opened

    program = opened(path, loaded, framework="tflite", suffix=".tflite")[0].program
    describe(program), notes_on(program), _metadata(program)


def _jax_structure(path: Path) -> None:
    from isomorph.frameworks.jax.file_structure import looks_like_export, place_of_module

    data = path.read_bytes()
    looks_like_export(path, data[: 64 << 10])
    place_of_module(data)


def _pytorch_safety(path: Path) -> None:
    """What is read before torch; as in the loader, any error about a damaged archive is damage."""
    from isomorph.core.errors import IsomorphError
    from isomorph.frameworks.pytorch.archive import is_archive, is_damaged

    try:
        _pytorch_archive(path)
    except IsomorphError:
        raise
    except Exception:
        if not (is_archive(path) and is_damaged(path)):
            raise


def _pytorch_archive(path: Path) -> None:
    from isomorph.frameworks.pytorch import archive
    from isomorph.store.format_detection import identify

    if identify(path) != "pytorch":
        return
    kind = archive.kind_of(path, path.read_bytes()[:16])
    if kind == "exported":
        list(archive.operators_of(archive.refuse_unsafe_export(path)))
    elif kind == "script":
        archive.holds_traced_inputs(path)
    elif kind in {"pickle", "legacy pickle"}:
        archive.refuse_pickle(path, kind)


def _tensorflow_safety(path: Path) -> None:
    from isomorph.frameworks.tensorflow.framework import _head, _kind_of, _refuse_unsafe
    from isomorph.store.format_detection import identify

    if identify(path) == "tensorflow":
        kind = _kind_of(path, _head(path))
        _refuse_unsafe(path.parent if kind == "savedmodel" and path.is_file() else path, kind)


def _arrays(path: Path) -> None:
    import numpy as np

    from isomorph.inputs.data_sets import data_set
    from isomorph.store.format_detection import source_kind
    from isomorph.store.input_files import read_arrays

    source_kind(str(path))
    for most in (None, 1):
        for array in read_arrays(path, most_bytes=most).values():
            np.asarray(array).tobytes()
    data_set(path)


def _trace(path: Path) -> None:
    import numpy as np

    from isomorph.store.format_detection import source_kind
    from isomorph.store.trace_files import is_record, read_record
    from isomorph.store.traces import is_trace, read

    source_kind(str(path))
    if not is_trace(path):
        return
    for array in dict(read(path).tensors).values():
        np.asarray(array).tobytes()
    if is_record(path):
        record = read_record(path)
        for part in (record.inputs, record.run.tensors, record.untouched, record.written):
            dict(part)
        if record.oracle is not None:
            dict(record.oracle.tensors)
            [dict(each) for each in record.oracle.draws.values()]


def _report(path: Path) -> None:
    from isomorph.core.errors import IsomorphError
    from isomorph.reporters.json import JsonReporter
    from isomorph.reporters.markdown import MarkdownReporter
    from isomorph.server.report_store import ReportStore
    from isomorph.store.reported_inputs import reported_inputs
    from isomorph.store.reports import may_be_report, read_repair, read_report, reported_models

    may_be_report(path)
    for one in ReportStore(path.parent).listed():
        str(one)
    for read in (read_repair, reported_models, reported_inputs):
        with suppress(IsomorphError):
            read(path)
    report = read_report(path)
    JsonReporter().render(report), MarkdownReporter().render(report)


def _project(path: Path) -> None:
    from isomorph.store.projects import find_project, read_project

    read_project(path)
    find_project(path.parent)


def _baseline(path: Path) -> None:
    from isomorph.store.baselines import read_baseline, write_baseline

    found = read_baseline(path)
    again = path.parent / "written.toml"
    write_baseline(again, found)
    read_baseline(again)


def _sweep_file(path: Path) -> None:
    from isomorph.sweeping.cell_command import command_words
    from isomorph.sweeping.cell_selection import chosen_cells, planned

    plan = planned(path)
    for cell in chosen_cells(plan, (1, 1), ()):
        command_words(cell)


def _sweep_store(path: Path) -> None:
    import sqlite3

    from isomorph.store.sweep_store import SweepStore

    keys = [each.stem for each in (path / "reports").glob("*.json")]
    with SweepStore(path) as store:
        for key in (*keys, "0"):
            found = store.result(key)
            if found is not None:
                report = (path / str(found["report"])).resolve()
                assert report.is_relative_to(path.resolve()), f"a report outside: {report}"
        assert isinstance(store._index, sqlite3.Connection)


MODELS = (
    "onnx/*",
    "tflite/*",
    "executorch/*",
    "coreml/*",
    "openvino/*/model.xml",
    "jax/*",
    "pytorch/*",
    "tensorflow/*",
    "hugging_face/*",
)

READERS: dict[str, Reader] = {
    "format detection": Reader(MODELS, _identify),
    "onnx": Reader(("onnx/*",), _framework("onnx"), entry=".onnx", native=True),
    "tflite": Reader(("tflite/*",), _tflite),
    "executorch": Reader(("executorch/*",), _framework("executorch")),
    "coreml": Reader(("coreml/*",), _framework("coreml")),
    "openvino": Reader(("openvino/*",), _framework("openvino"), entry=".xml"),
    "jax structure": Reader(("jax/*",), _jax_structure),
    "pytorch safety": Reader(("pytorch/*",), _pytorch_safety),
    "tensorflow safety": Reader(("tensorflow/*",), _tensorflow_safety, needs="h5py", native=True),
    "arrays": Reader(("arrays/*",), _arrays),
    "trace": Reader(("records/trace",), _trace),
    "report": Reader((EARLIER_REPORTS, "records/report/*"), _report),
    "project": Reader(("texts/project",), _project, entry=".toml"),
    "baseline": Reader(("texts/baseline",), _baseline, entry=".toml"),
    "sweep file": Reader(("texts/sweep",), _sweep_file, entry="sweep.toml"),
    "sweep store": Reader(("records/store",), _sweep_store),
    "pytorch": Reader(("pytorch/net.pt2",), _framework("pytorch"), needs="torch", native=True),
    "jax": Reader(("jax/*",), _framework("jax"), needs="jax", native=True),
}
"""The readers that run in the process of the fuzzer."""

IN_WORKERS: dict[str, tuple[str, ...]] = {
    "onnx": ("onnx/*",),
    "pytorch": ("pytorch/net.pt2", "pytorch/script.pt"),
    "jax": ("jax/*",),
    "hugging face": ("hugging_face/*",),
    "tensorflow": ("tensorflow/*",),
    "tflite": ("tflite/*",),
    "executorch": ("executorch/*",),
}
"""What native code reads; the answer of the parent process is judged."""
