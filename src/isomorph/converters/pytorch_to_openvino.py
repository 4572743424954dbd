"""PyTorch to OpenVINO's own files by OpenVINO's front end, without a stop in another format."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.converters import _openvino
from isomorph.core.conversion import Order, Workaround
from isomorph.core.lazy import require


class PytorchToOpenvino:
    """``openvino.convert_model`` on an exported program, never on a traced module.

    Tracing bakes decisions in, so a module is exported first, which refuses them loudly.
    """

    name = "pytorch_to_openvino"
    source, target, suffix = "pytorch", "openvino", ".xml"
    widths = _openvino.WIDTHS
    packages = ("torch", "openvino")
    install = "pip install 'isomorph[torch,openvino]'"
    worker = "openvino"
    rank, named = 0, False
    workarounds: tuple[Workaround, ...] = ()
    loses = ("gradients and training mode", *_openvino.LOSES)
    proven_as = _openvino.PROVEN_AS

    def convert(self, order: Order) -> Sequence[str]:
        """Export where that is still to be done, translate and write."""
        torch = require("torch", extra="torch", needed_for=f"converter {self.name!r}")
        openvino = require("openvino", extra="openvino", needed_for=f"converter {self.name!r}")
        from isomorph.frameworks.openvino.pytorch_program import translated
        from isomorph.frameworks.pytorch.live_module import live_program

        given = live_program(order, "this way into OpenVINO")
        program = given.native
        if given.kind == "module":
            program = torch.export.export(given.module.eval(), given.args, dict(given.kwargs))
        model = translated(openvino, program, order.inputs, file=order.source)
        return (_openvino.save(openvino, model, order),)
