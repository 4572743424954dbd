"""TensorFlow and Keras: SavedModels, .keras, .h5, frozen graphs, live models and functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.core.model import Model, OutputOrder
from isomorph.core.model_digests import digest_of_files, digest_of_graph
from isomorph.frameworks.tensorflow.file_structure import looks_like_graph, looks_like_saved_model
from isomorph.frameworks.tensorflow.io_ops import (
    refuse_absent_weights,
    refuse_io_in_graph,
    refuse_io_in_saved_model,
)
from isomorph.frameworks.tensorflow.keras_config import (
    HDF5_MAGIC,
    refuse_unsafe_archive,
    refuse_unsafe_hdf5,
)
from isomorph.frameworks.tensorflow.operator_tables import TABLES
from isomorph.frameworks.tensorflow.silence_logs import import_tensorflow
from isomorph.store.zip_members import member_names

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.tensorflow.model import TfModel
    from isomorph.proof.calls import Meanings

_NEEDED_FOR = "framework 'tensorflow'"
_ZIP = b"PK\x03\x04"


class TensorflowFramework:
    """Models of TensorFlow and Keras, described from the frozen inference graph."""

    name = "tensorflow"
    suffix = ".pb"
    extra = "tensorflow"
    runtime = "tensorflow"
    oracle = "tensorflow_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    operator_tables = TABLES

    def meanings(self) -> Meanings:
        """The graph operators that have a meaning, for proofs."""
        from isomorph.frameworks.tensorflow.meanings import MEANINGS

        return MEANINGS

    def sniff(self, path: Path, head: bytes) -> bool:
        """A SavedModel folder, a Keras archive, an HDF5 file or a graph, by content."""
        return _kind_of(path, head) is not None

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """A Keras model, a ``tf.function`` or a GraphDef, if their packages are loaded already."""
        return _live_kind(source) is not None

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write a live model where a worker can load it: .keras, a SavedModel, or a graph."""
        import_tensorflow(_NEEDED_FOR)
        from isomorph.frameworks.tensorflow.export import write_live

        return write_live(source, _live_kind(source) or "function", example, folder)

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """A path or a live object; what would run code is refused before Keras is imported."""
        live = None if isinstance(source, (str, os.PathLike)) else _live_kind(source)
        if live is not None:
            return _described(_from_live(source, live), type(source).__name__, "", ())
        path = Path(source)
        kind = _kind_of(path, _head(path))
        if kind == "savedmodel" and path.is_file():
            path = path.parent
        if options.get("trust") != "yes":
            _refuse_unsafe(path, kind)
        native, notes = _from_file(path, kind, trusted=options.get("trust") == "yes")
        return _described(native, os.fspath(source), digest_of_files(path), notes)

    def save(self, model: Model, path: Path) -> None:
        """Write a copy; never onto what it came from, nor through a link."""
        from isomorph.frameworks.tensorflow.save import save

        save(model, Path(path))

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy in the format of the original: a graph, a Keras file, a folder."""
        from isomorph.frameworks.tensorflow.patch import write_patched

        write_patched(model.native, model.location, patch, Path(path))

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched program in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.tensorflow.patch import patched_in_memory

        return replace(model, native=patched_in_memory(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the program, or a body inside it, as a frozen graph of its own."""
        from isomorph.frameworks.tensorflow.subgraph import piece_of
        from isomorph.store.atomic import new_file

        with new_file(Path(path)) as stream:
            graph = piece_of(model.native.program, piece, feeds)
            stream.write(graph.SerializeToString(deterministic=True))


def _head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    with path.open("rb") as file:
        return file.read(64 << 10)


def _kind_of(path: Path, head: bytes) -> str | None:
    """``savedmodel``, ``keras``, ``h5`` or ``graph``; None for anything else."""
    if not head:
        return "savedmodel" if (path / "saved_model.pb").is_file() else None
    if head.startswith(HDF5_MAGIC):
        return "h5"
    if head.startswith(_ZIP):
        inside = member_names(path)
        weights = any(name.endswith((".weights.h5", ".weights.npz")) for name in inside)
        return "keras" if "config.json" in inside and weights else None
    if looks_like_saved_model(head) and path.name == "saved_model.pb":
        return "savedmodel"
    return "graph" if looks_like_graph(head) else None


def _refuse_unsafe(path: Path, kind: str | None) -> None:
    if kind == "keras":
        refuse_unsafe_archive(path)
    elif kind == "h5":
        refuse_unsafe_hdf5(path)
    elif kind == "graph":
        refuse_io_in_graph(path)
    elif kind == "savedmodel":
        refuse_absent_weights(path)
        refuse_io_in_saved_model(path / "saved_model.pb")


def _from_file(path: Path, kind: str | None, *, trusted: bool) -> tuple[TfModel, tuple[str, ...]]:
    if kind is None:
        raise UnreadableModelError(
            "NOT_A_MODEL", "this is no TensorFlow model", file=str(path),
            why="it is neither a SavedModel folder, a .keras or .h5 file, nor a frozen graph",
        )  # fmt: skip
    import_tensorflow(_NEEDED_FOR)
    from isomorph.frameworks.tensorflow import load as tensorflow_load

    if kind == "savedmodel":
        return tensorflow_load.load_saved_model(path), ()
    if kind == "graph":
        return tensorflow_load.load_graph(path), ()
    return tensorflow_load.load_keras(path, legacy=kind == "h5", trusted=trusted)


def _live_kind(source: Any) -> str | None:  # noqa: ANN401
    for package in ("keras", "tf_keras"):
        keras = sys.modules.get(package)
        if keras is not None and isinstance(source, keras.Model):
            return "keras"
    tf = sys.modules.get("tensorflow")
    if tf is None or not hasattr(tf, "compat"):
        return None
    if isinstance(source, tf.compat.v1.GraphDef):
        return "graph"
    callable_graph = hasattr(source, "get_concrete_function") and callable(source)
    concrete = hasattr(source, "structured_input_signature") and hasattr(source, "graph")
    return "function" if callable_graph or concrete else None


def _from_live(source: Any, kind: str) -> TfModel:  # noqa: ANN401
    import_tensorflow(_NEEDED_FOR)
    from isomorph.frameworks.tensorflow import callables
    from isomorph.frameworks.tensorflow import load as tensorflow_load

    if kind == "keras":
        return callables.from_keras(source)
    if kind == "graph":
        return tensorflow_load.from_graph_def(source)
    return callables.from_function(source, {})


def _described(native: TfModel, location: str, digest: str, notes: tuple[str, ...]) -> Model:
    tf = sys.modules["tensorflow"]
    from isomorph.frameworks.tensorflow.describe import describe

    graph = describe(native.program)
    order = OutputOrder.POSITIONAL
    if native.program.unordered:
        order = OutputOrder.UNORDERED
    elif native.kind == "savedmodel":
        order = OutputOrder.NAMED  # numbered names state an order, and yet it is a dict
    return Model(
        framework="tensorflow",
        location=location,
        digest=digest or digest_of_graph(graph),
        graph=graph,
        producer=f"tensorflow {tf.__version__}",
        metadata={"kind": native.kind},
        output_order=order,
        channels_last=True,
        notes=notes,
        native=native,
    )
