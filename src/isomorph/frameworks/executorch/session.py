"""One program in ExecuTorch's runtime, from its inputs to its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from executorch.extension.pybindings import _C

from isomorph.core.cutting import unfed_inputs
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays
    from isomorph.frameworks.executorch.program import PteProgram


class ExecutorchSession:
    """One loaded method. A run goes from inputs to outputs; the oracle shows what lies between."""

    capabilities = Capabilities(fetch="outputs", feed="inputs")

    def __init__(
        self, model: Model, environment: Environment, settings: Mapping[str, str], threads: int
    ) -> None:
        self._program: PteProgram = model.native
        self._file = model.location
        self._data = bytes(self._program.data)  # the runtime reads it where it lies
        _C._unsafe_reset_threadpool(threads)
        self._method = self._loaded()
        release = version("executorch")
        self.environment = replace(
            environment,
            version=release,
            device="cpu",
            threads=threads,
            settings=settings,
            facts={
                **environment.facts,
                "executorch": release,
                "delegates": ", ".join(dict.fromkeys(self._program.delegates)) or "none",
            },
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute outputs from all inputs; stored tensors may be fetched as well."""
        if noise is not None:
            raise UsageError("NO_NOISE", "only an oracle can be disturbed, not ExecuTorch")
        program = self._program
        known = {name: program.tensors[name].array() for name in fetch if name in program.tensors}
        found = {name: array for name, array in known.items() if array is not None}
        wanted = [name for name in fetch if name not in found]
        if not set(wanted) <= set(program.outputs) or not set(feeds) <= set(program.inputs):
            raise UsageError(
                "NOT_CUTTABLE",
                "runtime 'executorch' runs a program whole, from all inputs to outputs",
                file=self._file,
            )
        missing = [name for name in program.inputs if name not in feeds]
        if wanted and missing:
            raise unfed_inputs(missing, wanted[0], file=self._file)
        if wanted:
            found.update(zip(program.outputs, self._run(feeds), strict=True))
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of the program."""
        self._method = None

    def _loaded(self) -> Any:  # noqa: ANN401
        try:
            program = _C._load_program_from_buffer(self._data)
            return program.load_method(self._program.method)
        except RuntimeError as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> UnreadableModelError:
        known = {name.replace("::", ".") for name in _C._get_operator_names()}
        lacking = [
            node
            for node in self._program.nodes
            if not node.native_op.startswith(("xnnpack.", "executorch."))
            and node.native_op not in known
        ]
        if lacking:
            return UnreadableModelError(
                "UNSUPPORTED_OP",
                f"this build of ExecuTorch has no kernel for {lacking[0].native_op}",
                file=self._file,
                where=lacking[0].name,
                fix="lower the model without it, or run it where its kernels are linked",
            )
        return UnreadableModelError(
            "RUNTIME_REFUSED",
            "ExecuTorch does not load this program",
            file=self._file,
            why=str(error),
        )

    def _run(self, feeds: Arrays) -> list[Array]:
        program = self._program
        names = iter(program.inputs)
        count = len(program.inputs) + len(program.given)
        arguments = [
            program.given[place]
            if place in program.given
            else self._tensor(name := next(names), feeds[name])
            for place in range(count)
        ]
        try:
            results = self._method(arguments)
        except RuntimeError as error:
            raise RuntimeFailedError(
                "RUNTIME_FAILED", "ExecuTorch failed", file=self._file, why=str(error)
            ) from error
        return [_array(each) for each in results]

    def _tensor(self, name: str, value: Any) -> torch.Tensor:  # noqa: ANN401
        declared = self._program.tensors[name]
        array = np.ascontiguousarray(value)
        if array.dtype != numpy_dtype(declared.dtype):
            raise UsageError(
                "FEED_DTYPE", f"{name!r} is {declared.dtype}, and {array.dtype} was fed"
            )
        tensor = _torch(array)
        plain = tuple(range(array.ndim))
        if declared.order and declared.order != plain:
            # The runtime compares the order of axes in memory, which is part of the signature.
            back = tuple(np.argsort(declared.order).tolist())
            tensor = tensor.permute(declared.order).contiguous().permute(back)
        return tensor


def _torch(array: Array) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _array(value: Any) -> Array:  # noqa: ANN401
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    if value.dtype == torch.bfloat16:
        return np.array(value.contiguous().view(torch.int16).numpy().view(numpy_dtype("bfloat16")))
    return np.array(value.contiguous().numpy())
