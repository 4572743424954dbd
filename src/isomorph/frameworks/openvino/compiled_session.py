"""What every session of OpenVINO has: the model compiled whole, and pieces when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isomorph.core.cutting import refuse_noise
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.openvino.compile import DEVICE, Compiled, configuration, refused

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays

_NARROW = {"bf16": "bfloat16", "bfloat16": "bfloat16", "f16": "float16", "float16": "float16"}


class CompiledSession(ABC):
    """The deployed model; what lies inside it, its format's session computes from pieces."""

    capabilities: Capabilities = Capabilities(fetch="all", feed="all")
    inside: ClassVar[str]
    """How what lies inside is computed, for the facts of the environment."""

    def __init__(
        self,
        model: Model,
        environment: Environment,
        settings: Mapping[str, str],
        openvino: Any,  # noqa: ANN401
    ) -> None:
        self._model, self._file = model, model.location
        self._openvino, self._core = openvino, openvino.Core()
        self._config = configuration(settings)
        self._pieces: dict[Hashable, Compiled] = {}
        source, self._inputs, self._outputs = self.deployed()
        self._deployed = self._compiled(source, self._inputs, self._outputs)
        self.environment = self._completed(environment, settings)

    @abstractmethod
    def deployed(self) -> tuple[Any, Sequence[str], Sequence[str]]:
        """What is compiled as a whole, and the names of its inputs and outputs."""

    @abstractmethod
    def accepted(self, name: str, value: Array) -> Array:
        """A fed array; one that its tensor does not take is refused."""

    @abstractmethod
    def check(self, names: Sequence[str]) -> None:
        """Refuse names that cannot be fed or fetched."""

    @abstractmethod
    def stored(self, name: str) -> Array | None:
        """The value of a constant; None for what is computed."""

    @abstractmethod
    def computed(self, given: dict[str, Array], wanted: list[str]) -> Mapping[str, Array]:
        """Tensors that are not all outputs, or from others than all inputs."""

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``."""
        refuse_noise(noise, "OpenVINO")
        self.check((*feeds, *fetch))
        given = {name: self.accepted(name, np.asarray(value)) for name, value in feeds.items()}
        found: dict[str, Array] = dict(given)
        fixed = {name: self.stored(name) for name in fetch if name not in given}
        found |= {name: value for name, value in fixed.items() if value is not None}
        wanted = [name for name in dict.fromkeys(fetch) if name not in found]
        if set(given) == set(self._inputs) and set(wanted) <= set(self._outputs):
            found |= self._deployed.run(given, file=self._file)
        elif wanted:
            found |= self.computed(given, wanted)
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of everything compiled."""
        self._pieces.clear()
        del self._deployed

    def _compiled(self, source: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Compiled:  # noqa: ANN401
        """A model of OpenVINO's, what reads it, its file or its bytes."""
        core = self._core
        try:
            model = core.read_model(source) if isinstance(source, (str, bytes)) else source
            model = model() if callable(model) else model
            return Compiled(core.compile_model(model, DEVICE, dict(self._config)), inputs, outputs)
        except Exception as error:
            raise refused(error, self._file) from error

    def _completed(self, asked: Environment, settings: Mapping[str, str]) -> Environment:
        """What was really compiled: the precision is OpenVINO's own choice unless it was set."""
        read = self._deployed.native.get_property
        used = read("INFERENCE_PRECISION_HINT").get_type_name()
        return replace(
            asked,
            version=str(self._openvino.__version__),
            device="cpu",
            precision=_NARROW.get(used, "as declared"),
            threads=int(read("INFERENCE_NUM_THREADS")),
            settings=dict(settings),
            facts={
                **asked.facts,
                "processor": str(self._core.get_property(DEVICE, "FULL_DEVICE_NAME")),
                "precision of inference": used,
                "activations quantized in groups of": str(read("DYNAMIC_QUANTIZATION_GROUP_SIZE")),
                "inside": self.inside,
            },
        )
