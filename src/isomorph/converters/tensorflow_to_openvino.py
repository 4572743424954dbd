"""TensorFlow and Keras to OpenVINO's own files by OpenVINO's front end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from isomorph import registry
from isomorph.converters import _openvino
from isomorph.core.conversion import Order, Workaround
from isomorph.core.lazy import require


class TensorflowToOpenvino:
    """``openvino.convert_model`` on a SavedModel without variables."""

    name = "tensorflow_to_openvino"
    source, target, suffix = "tensorflow", "openvino", ".xml"
    widths = _openvino.WIDTHS
    packages = ("tensorflow", "openvino")
    install = "pip install 'isomorph[tensorflow,openvino]'"
    worker = "tensorflow"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = (
        "gradients and training mode",
        "layers, losses and custom objects of Keras",
        *_openvino.LOSES,
    )
    proven_as = _openvino.PROVEN_AS

    def convert(self, order: Order) -> Sequence[str]:
        """Freeze the variables, translate and write."""
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        native = registry.framework("tensorflow").load(order.source, order.options).native
        from isomorph.frameworks.tensorflow.import_graph import with_batch, write_saved_model

        with TemporaryDirectory(dir=Path(order.target).parent) as folder:
            write_saved_model(with_batch(native, None), Path(folder) / "frozen", None)
            model = openvino.convert_model(str(Path(folder) / "frozen"))
            return (_openvino.save(openvino, model, order),)
