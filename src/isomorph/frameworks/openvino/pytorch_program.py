"""An exported PyTorch program in OpenVINO, by OpenVINO's own front end: whole, never cut.

The front end renames and fuses as it reads, so nothing inside can be asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.openvino.compile import compiled, completed, configuration, refused
from isomorph.frameworks.pytorch.control_flow import refuse_unsupported
from isomorph.frameworks.pytorch.silence_logs import quietly

if TYPE_CHECKING:
    from isomorph.core.model import Model, TensorSpec
    from isomorph.core.trace import Arrays


def translated(
    openvino: Any,  # noqa: ANN401
    program: Any,  # noqa: ANN401
    inputs: Sequence[TensorSpec],
    *,
    file: str,
) -> Any:  # noqa: ANN401
    """OpenVINO's model of an exported program, with the sizes that the program declares."""
    try:
        with quietly():
            model = openvino.convert_model(program)
        # The front end leaves axes open that the program was exported with a size for.
        if len(model.inputs) == len(inputs):
            places = range(len(inputs))
            model.reshape({place: _partial(openvino, inputs[place]) for place in places})
    except Exception as error:
        raise refused(error, file) from error
    return model


def _partial(openvino: Any, spec: TensorSpec) -> Any:  # noqa: ANN401
    if spec.shape is None:
        return openvino.PartialShape.dynamic()
    return openvino.PartialShape([size if isinstance(size, int) else -1 for size in spec.shape])


class OpenvinoTorchSession:
    """One compiled program, from its inputs to its outputs."""

    capabilities = Capabilities(fetch="outputs", feed="inputs")

    def __init__(
        self,
        model: Model,
        environment: Environment,
        settings: Mapping[str, str],
        openvino: Any,  # noqa: ANN401
    ) -> None:
        native = model.native.complete()
        if native.exported is None:
            raise UsageError(
                "WRONG_RUNTIME",
                f"runtime 'openvino' runs exported programs, and this is a {native.kind}",
                file=model.location,
                fix="export it first: torch.export.save(torch.export.export(…), 'model.pt2')",
            )
        refuse_unsupported(native.program)
        graph = model.graph
        self._file, core = model.location, openvino.Core()
        self._inputs = [spec.name for spec in graph.inputs]
        self._outputs = [spec.name for spec in graph.outputs]
        self._deployed = compiled(
            core,
            translated(openvino, native.exported, graph.inputs, file=model.location),
            configuration(settings),
            (self._inputs, self._outputs),
            file=model.location,
        )
        self.environment = completed(
            environment, settings, openvino, core, self._deployed.native,
            inside="OpenVINO's own front end read the program; nothing inside can be asked for",
        )  # fmt: skip

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute outputs from inputs."""
        if noise is not None:
            raise UsageError("NO_NOISE", "only an oracle can be disturbed, not OpenVINO")
        if set(feeds) != set(self._inputs) or not set(fetch) <= set(self._outputs):
            raise UsageError(
                "NOT_CUTTABLE",
                "runtime 'openvino' runs a PyTorch program whole, from all inputs to outputs",
                file=self._file,
                fix="convert it to ONNX, where OpenVINO can be cut anywhere",
            )
        given = {name: np.asarray(value) for name, value in feeds.items()}
        found = self._deployed.run(given, file=self._file)
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of what was compiled."""
        del self._deployed
