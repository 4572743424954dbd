"""PyTorch to OpenVINO's own files by OpenVINO's front end, without a stop in another format."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _openvino
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.lazy import require


class PytorchToOpenvino:
    """``openvino.convert_model`` on an exported program, never on a traced module.

    Tracing bakes decisions in, so a module is exported first, which refuses them loudly. The files
    are proven as those from ONNX are: the same bits as the program in OpenVINO, and that held
    against the first model by its oracle, in float32.
    """

    name = "pytorch_to_openvino"
    source, target, suffix = "pytorch", "openvino", ".xml"
    widths = frozenset({AS_IS})
    packages = ("torch", "openvino")
    install = "pip install 'isomorph[torch,openvino]'"
    worker = "openvino"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("gradients and training mode", "the precision: compile it with the hint f32")
    proven_as = _openvino.PROVEN_AS

    def convert(self, order: Order) -> Sequence[str]:
        """Export where that is still to be done, translate, write, and run beside the source."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.openvino.pytorch_program import translated
        from isomorph.frameworks.pytorch.live_module import live_program

        given = live_program(order, "this way into OpenVINO")
        program = given.native
        if given.kind == "module":
            program = torch.export.export(given.module.eval(), given.args, dict(given.kwargs))
        model = translated(openvino, program, order.inputs, file=order.source)
        return (_openvino.written(openvino, model, order, model, "the exported program"),)
