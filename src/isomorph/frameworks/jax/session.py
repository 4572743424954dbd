"""An exported function opened on the CPU or a GPU, fed and fetched at any tensor.

What feeds the inputs and fetches outputs is the function as JAX calls it. Everything else is a cut
of its module, compiled by XLA.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import export
from jax._src.lib import xla_client
from jaxlib import _jax

from isomorph.core.cutting import outputs_only, refuse_noise, unfed_inputs
from isomorph.core.errors import (
    IsomorphError,
    RefusedError,
    RuntimeFailedError,
    UnreadableModelError,
    UsageError,
    listed,
)
from isomorph.core.kept_pieces import KeptPieces
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.jax.cut import Cutter, with_precision
from isomorph.frameworks.jax.mlir_values import array_of
from isomorph.frameworks.jax.op_facts import RUN_CALLS
from isomorph.frameworks.jax.platform_branches import CPU, CUDA, cuda_devices
from isomorph.frameworks.jax.runtime import PASSES
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.dtypes import same_bits
from isomorph.store.spill import byte_budget, spilled

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays
    from isomorph.frameworks.jax.program import JaxProgram

KEPT_PIECES = 8
"""Compiled cuts that stay open: a bisection comes back to the same few."""


class JaxSession:
    """One exported function.

    Where axes are dynamic it runs from inputs to outputs alone, and so it does on another platform
    than it was read for where that one computes other operations.
    """

    def __init__(
        self, model: Model, environment: Environment, words: Mapping[str, str], device: Any,  # noqa: ANN401
    ) -> None:  # fmt: skip
        program: JaxProgram = model.native
        self._program, self._file, self._device = program, model.location, device
        _refuse_calls(program, self._file)
        platform = CPU if device.platform == CPU else CUDA
        _refuse_other_platform(program, platform, self._file)
        read_for = CPU if CPU in program.platforms else program.platforms[0]
        self._whole = program.dynamic or (program.by_platform and platform != read_for)
        self.capabilities = Capabilities(
            fetch="outputs" if self._whole else "all", feed="inputs" if self._whole else "all"
        )
        passes = PASSES[words["optimization"]]
        self._options = {"xla_disable_hlo_passes": passes} if passes else {}
        self._precision = words["matmul_precision"]
        self._cutter = Cutter(program)
        self._pieces: KeptPieces[Any] = KeptPieces(KEPT_PIECES)
        self._call = jax.jit(
            with_precision(program, self._precision).call, compiler_options=self._options or None
        )
        self.environment = replace(
            environment,
            version=jax.__version__,
            device=words["device"],
            settings=dict(words),
            facts={**environment.facts, **_facts(device)},
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any tensor of the main function."""
        refuse_noise(noise, "JAX")
        wanted = tuple(dict.fromkeys(fetch))
        self._cutter.check((*feeds, *wanted))
        given = {name: self._fitted(name, value) for name, value in feeds.items()}
        found: dict[str, Any] = {name: given[name] for name in wanted if name in given}
        for name in wanted:
            if name in self._cutter.stored and name not in found:
                found[name] = self._constant(name)
        rest = [name for name in wanted if name not in found]
        with jax.enable_x64(True):
            found.update(self._computed(given, rest))
        return {name: found[name] for name in wanted}

    def close(self) -> None:
        """Let go of what was compiled."""
        self._pieces.clear()

    def _computed(self, given: dict[str, Array], fetch: list[str]) -> dict[str, Any]:
        program = self._program
        if not fetch:
            return {}
        deployed = set(given) == set(program.inputs) and set(fetch) <= set(program.outputs)
        if deployed:
            return self._deployed(given, fetch)
        if self._whole:
            why = "the function has dynamic axes"
            if not program.dynamic:
                why = "it computes other operations there than on the platform it was read for"
            raise outputs_only(
                fetch, program.outputs, why=why,
                fix="export it with fixed sizes, for one platform, to look inside",
            )  # fmt: skip
        # A constant that is fed its own value stays one: XLA folds and packs constants.
        given = {
            name: value for name, value in given.items()
            if name not in self._cutter.stored or not same_bits(value, self._constant(name))
        }  # fmt: skip
        if missing := self._cutter.ends(given, fetch):
            raise unfed_inputs(missing, fetch[0], file=self._file)
        parts = self._batches(fetch)
        found: dict[str, Any] = {}
        for part in parts:
            values = self._cut(given, part)
            if len(parts) > 1:
                values = {name: spilled(value) for name, value in values.items()}
            found.update(values)
        return found

    def _deployed(self, given: Mapping[str, Array], fetch: Sequence[str]) -> dict[str, Any]:
        program = self._program
        flat = [given[name] for name in program.inputs]
        args, kwargs = jax.tree.unflatten(program.exported.in_tree, flat)
        try:
            with jax.default_device(self._device):
                leaves = jax.tree.leaves(self._call(*args, **kwargs))
            values = dict(zip(program.outputs, map(np.asarray, leaves), strict=True))
        except IsomorphError:
            raise
        except Exception as error:  # XLA's own
            raise self._failed(error) from error
        return {name: values[name] for name in fetch}

    def _cut(self, given: Mapping[str, Array], fetch: Sequence[str]) -> dict[str, Any]:
        names = tuple(name for name in given if name in self._program.values)
        key = (names, tuple(fetch))
        try:
            piece = self._pieces.get(key, lambda: self._compiled(names, fetch))
            buffers = [jax.device_put(given[name], self._device) for name in names]
            results = piece.execute_sharded(buffers)
            arrays = results.disassemble_into_single_device_arrays()
            return {name: np.asarray(parts[0]) for name, parts in zip(fetch, arrays, strict=True)}
        except IsomorphError:
            raise
        except Exception as error:  # XLA's own
            raise self._failed(error) from error

    def _compiled(self, names: Sequence[str], fetch: Sequence[str]) -> Any:  # noqa: ANN401
        module = self._cutter.module(names, fetch, self._precision)
        options = xla_client.CompileOptions()
        options.num_replicas = options.num_partitions = 1
        options.env_option_overrides = list(self._options.items())
        devices = _jax.DeviceList((self._device,))
        return self._device.client.compile_and_load(module, devices, options)

    def _batches(self, fetch: Sequence[str]) -> list[list[str]]:
        """Tensors that are fetched at a time: XLA holds all results of a run in memory."""
        most, parts, size = byte_budget(), [[]], 0  # type: ignore[var-annotated]
        for name in fetch:
            tensor = self._program.tensors[name]
            own = math.prod(each or 1 for each in tensor.shape) * numpy_dtype(tensor.dtype).itemsize
            if parts[-1] and size + own > most:
                parts.append([])
                size = 0
            parts[-1].append(name)
            size += own
        return parts

    def _fitted(self, name: str, value: Any) -> Array:  # noqa: ANN401
        tensor, array = self._program.tensors[name], np.asarray(value)
        known = zip(array.shape, tensor.shape, strict=False)
        if array.ndim != len(tensor.shape) or any(b is not None and a != b for a, b in known):
            raise UsageError(
                "INPUT_SHAPE", f"{name!r} is fed with the shape {list(array.shape)}",
                file=self._file, why=f"it is declared as {list(tensor.shape)}",
            )  # fmt: skip
        return np.require(array.astype(numpy_dtype(tensor.dtype), copy=False), requirements="C")

    def _constant(self, name: str) -> Array:
        return np.asarray(array_of(self._program.constants[name]))

    def _failed(self, error: Exception) -> RuntimeFailedError:
        return RuntimeFailedError(
            "RUNTIME_FAILED", "JAX failed", file=self._file,
            why=" ".join(f"{type(error).__name__}: {error}".split())[:300],
        )  # fmt: skip


def usable_device(word: str) -> Any:  # noqa: ANN401
    """The device of this name, ``cpu``, ``cuda`` or ``cuda:1``; an error where JAX has none."""
    if word == CPU:
        return jax.devices(CPU)[0]
    there = {f"{CUDA}:{place}": each for place, each in enumerate(cuda_devices())}
    if there and word in (CUDA, *there):
        return there.get(word, there[f"{CUDA}:0"])
    raise RuntimeFailedError(
        "NO_SUCH_DEVICE", f"jax {jax.__version__} cannot use device {word!r}",
        why=f"there is: {', '.join((CPU, *there))}", fix="--set device=cpu",
    )  # fmt: skip


def _facts(device: Any) -> dict[str, str]:  # noqa: ANN401
    facts = {"jaxlib": version("jaxlib")}
    if device.platform != CPU:
        facts |= {"device name": device.device_kind, CUDA: device.client.platform_version}
    return facts


def _refuse_other_platform(program: JaxProgram, platform: str, file: str) -> None:
    """Refuse what was exported for other platforms; a part of a function has no such limits."""
    anywhere = export.DisabledSafetyCheck.platform() in program.exported.disabled_safety_checks
    if platform in program.platforms or anywhere:
        return
    wanted = (*program.platforms, platform)
    raise UnreadableModelError(
        "NO_SUCH_DEVICE", f"the function was not exported for {platform.upper()}", file=file,
        why=f"its platforms are {', '.join(program.platforms)}",
        fix=f"--set device={wanted[0]}, or jax.export.export(function, platforms={wanted})",
    )  # fmt: skip


def _refuse_calls(program: JaxProgram, file: str) -> None:
    """Refuse calls by name that are not known: an address in the file may say what is called."""
    calls = sorted(program.calls - RUN_CALLS)
    if not calls:
        return
    if any("callback" in name for name in calls):
        raise RefusedError(
            "IO_OP_IN_GRAPH", "the function calls back into the process that exported it",
            file=file, where=listed(calls),
            fix="export it without callbacks",
        )  # fmt: skip
    raise UnreadableModelError(
        "UNSUPPORTED_OP", "the function calls a library by name", file=file,
        where=listed(calls),
        why="only calls that are known to compute and to do nothing else are run",
        fix="export it for the CPU, without custom calls",
    )  # fmt: skip
