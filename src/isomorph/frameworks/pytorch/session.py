"""One loaded PyTorch model: as deployed where nothing is cut, step by step where something is."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from isomorph.core.cutting import outputs_only
from isomorph.core.errors import RuntimeFailedError, UsageError, message_lines
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.pytorch.arrays import is_float, to_array, to_tensor
from isomorph.frameworks.pytorch.compile_stages import compiled
from isomorph.frameworks.pytorch.control_flow import is_control, refuse_unsupported, run_control
from isomorph.frameworks.pytorch.in_place_ops import alters_state
from isomorph.frameworks.pytorch.interpreter import (
    Values,
    call_target,
    enter_body,
    execute,
    planner_of,
    starting_values,
)
from isomorph.frameworks.pytorch.mapped_weights import LARGE
from isomorph.frameworks.pytorch.model import TorchModel
from isomorph.frameworks.pytorch.program import (
    Program,
    Spec,
    Step,
    operator_name,
    plain_word,
    refs,
    replace_refs,
)
from isomorph.frameworks.pytorch.rounding_classes import FACTORIES
from isomorph.frameworks.pytorch.silence_logs import quietly
from isomorph.oracle.plan import Planner
from isomorph.store.spill import SpillingTensors

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays


_HELD = 16 << 20
"""Bytes of weights in a file that a run leaves in memory after it has used them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMode:
    """How a model is run; None where torch or the model decides.

    ``stage``: how far it is compiled, as in ``compile_stages``, without the ``uncompiled``
    operators; empty if not at all.
    """

    device: torch.device
    dtype: torch.dtype | None = None
    autocast: torch.dtype | None = None
    stage: str = ""
    uncompiled: tuple[str, ...] = ()
    threads: int | None = None
    deterministic: bool = False
    tf32: bool | None = None


class TorchSession:
    """Runs a program's steps, or the deployed object itself."""

    def __init__(self, model: TorchModel, environment: Environment, mode: RunMode) -> None:
        refuse_unsupported(model.program)
        self.environment = environment
        self._program, self._mode = model.program, mode
        self._device, self._dtype = mode.device, mode.dtype
        self._planner = planner_of(model.program)
        self._bodies: dict[str, Planner[str, Step]] = {}
        self._constants = {
            name: self._placed(value) for name, value in model.program.constants.items()
        }
        self._deployed = _deployed(model, mode)
        self._alters_state = alters_state(model.program)
        self._steps_alone, self._release = model.whole is not None, model.release
        self._reads = _bytes_read(model.program) if self._steps_alone else {}
        self._read = 0
        whole = bool(mode.stage) or not model.cuttable
        self.capabilities = Capabilities(
            fetch="outputs" if whole else "all", feed="inputs" if whole else "all"
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``, in the declared types."""
        if noise is not None:
            raise UsageError("NO_NOISE", "runtime 'pytorch' cannot disturb its arithmetic",
                             fix="use runtime 'pytorch_oracle'")  # fmt: skip
        values = {
            name: self._placed(feed(self._program, name, array)) for name, array in feeds.items()
        }
        outputs, inputs = set(self._program.outputs), set(self._program.inputs)
        uncut = set(fetch) <= outputs and set(values) == inputs
        with self._switches(), torch.no_grad():
            if uncut and self._steps_alone:
                _refuse_other_sizes(self._program, values)
            if uncut and self._deployed is not None:
                fetched = self._run_deployed(values)
            elif self.capabilities.fetch == "outputs":
                raise outputs_only(
                    fetch,
                    outputs,
                    why="a compiled or unexportable module cannot be cut",
                    fix="leave compile off, or export the module with torch.export",
                )
            else:
                plan = self._planner.plan(frozenset(values), tuple(fetch))
                start = starting_values(self._program, values, plan, self._constants)
                keeper = SpillingTensors()
                # At once as an array, so that what exceeds memory can leave it.
                return execute(
                    plan,
                    start,
                    fetch,
                    self._evaluate,
                    lambda _, value: keeper.keep(to_array(value)),
                )
            return {name: to_array(fetched[name]) for name in fetch}

    def close(self) -> None:
        """Let go of the weights."""
        self._constants.clear()
        self._deployed = None

    def _run_deployed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        assert self._deployed is not None
        state = {}
        if self._alters_state:
            state = {name: value.clone() for name, value in self._deployed.deployed.named_buffers()}
        try:
            # Compiling happens on the first call, and warns about torch's own parts.
            with quietly() if self._mode.stage else nullcontext():
                return self._deployed.call(values)
        except (RuntimeError, TypeError, ValueError) as error:
            raise _failed(error) from error
        finally:
            for name, value in self._deployed.deployed.named_buffers() if state else ():
                value.copy_(state[name])

    def _evaluate(self, index: int, step: Step, values: Values) -> Any:  # noqa: ANN401
        arguments = list(replace_refs(step.args, values.__getitem__))
        named = dict(replace_refs(step.kwargs, values.__getitem__))
        if is_control(step):
            with _autocast(step, arguments):
                return run_control(step, arguments, self._run_body)
        self._adapt(step, arguments, named)
        result = call_target(step, arguments, named)
        self._read += self._reads.get(step.name, 0)
        if self._read >= _HELD:
            self._read = 0
            self._release()
        return result

    def _run_body(self, body: Program, given: Sequence[Any]) -> list[Any]:
        plan, start = enter_body(body, given, self._bodies)
        fetched = execute(plan, start, body.outputs, self._evaluate)
        return [fetched.get(name) for name in body.outputs]

    def _adapt(self, step: Step, arguments: list[Any], named: dict[str, Any]) -> None:
        """Devices, and the dtypes of fresh tensors, as this session was asked for."""
        fresh = self._dtype is not None and plain_word(step) in FACTORIES
        for container in (arguments, named):
            places = range(len(container)) if isinstance(container, list) else tuple(container)
            for place in places:
                value = container[place]  # type: ignore[index]
                if isinstance(value, torch.device):
                    container[place] = self._device  # type: ignore[index]
                elif fresh and isinstance(value, torch.dtype) and value.is_floating_point:
                    container[place] = self._dtype  # type: ignore[index]

    def _placed(self, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, torch.Tensor):
            return value
        narrow = self._dtype if self._dtype is not None and is_float(value) else value.dtype
        return value.to(device=self._device, dtype=narrow)

    @contextmanager
    def _switches(self) -> Iterator[None]:
        """Thread count, determinism and TF32 are the process's own, so they are put back."""
        mode, threads = self._mode, torch.get_num_threads()
        strict = torch.are_deterministic_algorithms_enabled()
        backends = (torch.backends.cuda.matmul, torch.backends.cudnn)
        short = [backend.allow_tf32 for backend in backends]
        try:
            if mode.threads is not None:
                torch.set_num_threads(mode.threads)
            if mode.deterministic:
                torch.use_deterministic_algorithms(True)
            for backend in backends if mode.tf32 is not None else ():
                backend.allow_tf32 = mode.tf32
            narrow = nullcontext()
            if mode.autocast is not None:
                narrow = torch.autocast(mode.device.type, dtype=mode.autocast)
            with narrow:
                yield
        finally:
            for backend, before in zip(backends, short, strict=True):
                backend.allow_tf32 = before
            torch.set_num_threads(threads)
            self._release()
            if mode.deterministic:  # even to set the same value again, torch imports its compiler
                torch.use_deterministic_algorithms(strict)


def _bytes_read(program: Program) -> dict[str, int]:
    """The bytes of large constants that each step reads, by its name."""
    large = {
        name: int(value.nbytes)
        for name, value in program.constants.items()
        if isinstance(value, torch.Tensor) and value.nbytes >= LARGE
    }
    read = {
        step.name: sum(large.get(name, 0) for name in refs(step.args, step.kwargs))
        for step in (program.steps if large else ())
    }
    return {name: size for name, size in read.items() if size}


def feed(program: Program, name: str, array: Any) -> Any:  # noqa: ANN401
    """A fed array as the tensor, number or list that the steps expect there."""
    if array is None or isinstance(array, (list, tuple)):
        return array if array is None else [to_tensor(item) for item in array]
    spec = program.specs.get(name, Spec())
    if spec.kind in {"int", "float", "bool"}:
        return {"int": int, "float": float, "bool": bool}[spec.kind](array)
    tensor = in_order(to_tensor(array), spec)
    if spec.dtype is None or tensor.dtype == spec.dtype:
        return tensor
    if tensor.is_floating_point() != spec.dtype.is_floating_point:
        raise UsageError(
            "WRONG_DTYPE", f"tensor {name!r} holds {spec.dtype}, but {tensor.dtype} was fed",
            fix="feed an array of the declared type",
        )  # fmt: skip
    return tensor.to(spec.dtype)


def in_order(tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
    """The same values, laid out in memory as the step that gives them lays them out."""
    if spec.order is None or len(spec.order) != tensor.dim():
        return tensor
    places = [spec.order.index(axis) for axis in range(tensor.dim())]
    return tensor.permute(spec.order).contiguous().permute(places)


def _deployed(model: TorchModel, mode: RunMode) -> TorchModel | None:
    """The object that runs when nothing is cut; None where only the steps can be adapted."""
    device, dtype = mode.device, mode.dtype
    unchanged = dtype is None and device.type == "cpu"
    if model.cuttable and not mode.stage and (not unchanged or model.whole is not None):
        return None
    model = model.complete()
    deployed = model.deployed
    if model.exported is None and not unchanged:
        deployed = copy.deepcopy(deployed).to(device=device, dtype=dtype)
    elif not unchanged:
        from torch.export.passes import move_to_device_pass

        moved = move_to_device_pass(model.exported, str(device))
        for node in moved.graph.nodes:
            # Another device's kernels may lay their results out so that no view of them exists.
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        deployed = moved.module()
    if mode.stage:
        deployed = compiled(deployed, mode.stage, mode.uncompiled)
    return TorchModel(
        kind=model.kind, program=model.program, deployed=deployed, exported=model.exported,
        cuttable=model.cuttable,
    )  # fmt: skip


@contextmanager
def _autocast(step: Step, arguments: Sequence[Any]) -> Iterator[None]:
    if operator_name(step.target) != "higher_order.wrap_with_autocast":
        yield
        return
    device, dtype, enabled = arguments[:3]
    with torch.autocast(device, dtype=dtype, enabled=bool(enabled)):
        yield


def _refuse_other_sizes(program: Program, values: Mapping[str, Any]) -> None:
    """A program whose sizes are numbers was made for these alone, whatever its operators take."""
    for name in program.inputs:
        expected = program.specs[name].shape if name in program.specs else None
        given = getattr(values[name], "shape", None)
        if expected is None or given is None or not all(isinstance(n, int) for n in expected):
            continue
        if tuple(given) != expected:
            raise RuntimeFailedError(
                "RUNTIME_FAILED", "torch could not run the model",
                why=f"input {name!r} is {list(given)}; it was exported for {list(expected)}",
                fix="export it with a dynamic axis, or feed the sizes it was exported for",
            )  # fmt: skip


def _failed(error: Exception) -> RuntimeFailedError:
    lines = message_lines(error)
    return RuntimeFailedError(
        "RUNTIME_FAILED", "torch could not run the model",
        why=lines[0] if lines else type(error).__name__,
    )  # fmt: skip
