"""OpenVINO models: an .xml file and the .bin beside it, described completely, written as a copy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError, listed
from isomorph.core.model import LoadFact, Model
from isomorph.frameworks.openvino.operator_tables import TABLES

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.openvino.program import IrModel

_STATES = "states begin every run anew, and what it leaves there is not compared: "
_NET = re.compile(rb"\A\s*(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<net\s", re.S)


class OpenvinoFramework:
    """OpenVINO's own files (IR); reading them needs no package of OpenVINO's."""

    name = "openvino"
    suffix = ".xml"
    extra: str | None = "openvino"
    runtime = "openvino"
    oracle = "openvino_oracle"
    keeps_metadata = False
    keeps_float = False
    frees_axes = False
    operator_tables = TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file begins as the XML of a network."""
        return _NET.match(head) is not None

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """A model of OpenVINO's in memory."""
        kind = type(source)
        return kind.__name__ == "Model" and kind.__module__.split(".")[0] == "openvino"

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write a model in memory for a worker to load."""
        from isomorph.core.lazy import require

        openvino = require("openvino", extra="openvino", needed_for="a model of OpenVINO")
        path = folder / "model.xml"
        openvino.save_model(source, str(path), compress_to_fp16=False)
        return path

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, check and describe; weights stay in the .bin file until somebody wants them."""
        from isomorph.frameworks.openvino.describe import describe

        native, digest = self._open(source, trusted=options.get("trust") == "yes")
        states = _states(native)
        return Model(
            framework=self.name,
            location=str(native.path or "a model in memory"),
            digest=digest,
            graph=describe(native),
            producer=_producer(native),
            opset={"ir": native.version},
            notes=(_STATES + listed(states),) if states else (),
            load_facts={LoadFact.KEEPS_STATE: ", ".join(states)} if states else {},
            native=native,
        )

    def _open(self, source: Any, *, trusted: bool) -> tuple[IrModel, str]:  # noqa: ANN401
        from isomorph.frameworks.openvino.read import open_path

        if isinstance(source, (str, Path)):
            return open_path(Path(source), trusted=trusted)
        if not self.claims(source):
            raise UsageError(
                "UNSUPPORTED_SOURCE",
                f"framework 'openvino' cannot read a {type(source).__name__}",
                fix="pass the path of an .xml file, or an openvino.Model",
            )
        with TemporaryDirectory() as folder:
            # What was mapped stays readable when its file is gone.
            native, digest = open_path(self.hand_over(source, {}, Path(folder)))
        return replace(native, path=None), digest

    def sidecar_files(self, path: Path) -> tuple[Path, ...]:
        """The file with the weights."""
        from isomorph.frameworks.openvino.weights import beside

        return (beside(path),) if beside(path).is_file() else ()

    def save(self, model: Model, path: Path) -> None:
        """Write a copy of both files."""
        from isomorph.frameworks.openvino.save import save

        save(model.native, Path(path))

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; the result passes the same checks as any model that is read."""
        from isomorph.frameworks.openvino.edit import patched
        from isomorph.frameworks.openvino.save import save

        save(patched(model.native, patch), Path(path))

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for the oracle to try a few tensors of it."""
        from isomorph.frameworks.openvino.edit import patched

        return replace(model, native=patched(model.native, patch))

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model, or a body inside it, as a model of its own."""
        from isomorph.frameworks.openvino.save import save
        from isomorph.frameworks.openvino.subgraph import piece_of

        save(piece_of(model.native, piece), Path(path))


def _states(native: IrModel) -> tuple[str, ...]:
    found = (layer for layer in native.graph.layers if layer.type == "ReadValue")
    return tuple(layer.data.get("variable_id", layer.name) for layer in found)


def _producer(native: IrModel) -> str:
    stated = native.root.inside("rt_info", "Runtime_version")
    version = stated[0].attributes.get("value", "") if stated else ""
    return f"openvino {version.partition('-')[0]}".strip()
