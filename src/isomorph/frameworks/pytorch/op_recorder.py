"""A model that cannot be cut, followed operator by operator while it runs.

Python that decides on values, or memory written through views, leaves no graph that holds for
every input. One run does leave a list of operators, and that list can be replayed in float64:
every decision is then the one the run took.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.frameworks.pytorch.export import Example
from isomorph.frameworks.pytorch.export_reader import spec_of
from isomorph.frameworks.pytorch.interpreter import Evaluate
from isomorph.frameworks.pytorch.model import TorchModel
from isomorph.frameworks.pytorch.program import Program, Ref, Spec, Step, refs
from isomorph.frameworks.pytorch.silence_logs import quietly


@dataclass(slots=True)
class _Tape:
    """Tensors by identity, and the steps between them."""

    names: dict[int, str] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def know(self, tensor: torch.Tensor, name: str) -> None:
        """Identities are only unique among the living, so every tensor is kept alive."""
        self.names[id(tensor)] = name
        self.kept.append(tensor)
        self.specs[name] = spec_of(tensor)

    def argument(self, value: Any) -> Any:  # noqa: ANN401
        """The value with names for tensors; one that nobody made is a constant."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.names:
                name = f"c_{len(self.constants)}"
                self.know(value, name)
                self.constants[name] = value.detach().clone()
            return Ref(self.names[id(value)])
        if isinstance(value, (list, tuple)):
            return type(value)(self.argument(item) for item in value)
        return value

    def fresh(self, word: str) -> str:
        """``add``, ``add_1``, ``add_2`` …"""
        count = self.counts.get(word, 0)
        self.counts[word] = count + 1
        return f"{word}_{count}" if count else word


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, tape: _Tape) -> None:
        super().__init__()
        self.tape = tape

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        tape, named = self.tape, dict(kwargs or {})
        recorded = tuple(tape.argument(value) for value in args)
        recorded_named = {key: tape.argument(value) for key, value in named.items()}
        result = func(*args, **named)
        name = tape.fresh(func._schema.name.partition("::")[2])
        listed = isinstance(result, (list, tuple))
        values = list(result) if listed else [result]
        outputs = [name] if not listed else [f"{name}.{place}" for place in range(len(values))]
        step = Step(
            name=name, target=func, args=recorded, kwargs=recorded_named,
            outputs=tuple(outputs), listed=listed,
        )  # fmt: skip
        tape.steps.append(step)
        for value, output in zip(values, outputs, strict=True):
            if isinstance(value, torch.Tensor) and not func._schema.is_mutable:
                tape.know(value, output)
            else:
                tape.specs[output] = spec_of(value)
        return result


def record_run(deployed: Any, example: Example) -> Program:  # noqa: ANN401
    """Run once and write down every operator, its values frozen as the run had them."""
    tape = _Tape()
    _know_state(tape, deployed)
    named = dict(zip(input_names(deployed, example), example.values, strict=True))
    inputs = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
    for name, value in inputs.items():
        tape.know(value, name)
    try:
        with quietly(), torch.no_grad(), _Recorder(tape):
            result = deployed(*example.args, **example.kwargs)
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RuntimeFailedError(
            "RUNTIME_FAILED", f"{type(deployed).__name__} could not be run", why=str(error)
        ) from error
    finally:
        with torch.no_grad():
            for path, buffer in deployed.named_buffers():
                buffer.copy_(tape.constants[_state_name("b", path)])
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    outputs = tuple(tape.argument(leaf).name for leaf in leaves)
    return Program(
        name="", inputs=tuple(inputs), outputs=outputs, steps=tuple(tape.steps),
        constants=tape.constants, specs=tape.specs,
        fixed={name: value for name, value in named.items() if name not in inputs},
    )  # fmt: skip


def _know_state(tape: _Tape, deployed: Any) -> None:  # noqa: ANN401
    for mark, entries in (("p", deployed.named_parameters()), ("b", deployed.named_buffers())):
        for path, tensor in entries:
            name = _state_name(mark, path)
            tape.know(tensor, name)
            # A copy: the run itself may write into its buffers.
            tape.constants[name] = tensor.detach().clone()


def _state_name(mark: str, path: str) -> str:
    return f"{mark}_{path.replace('.', '_')}"


def input_names(deployed: Any, example: Example) -> tuple[str, ...]:  # noqa: ANN401
    """What ``forward`` calls its arguments; those given by name keep it."""
    if isinstance(deployed, torch.jit.ScriptModule):
        parameters = [argument.name for argument in deployed.forward.schema.arguments[1:]]
    else:
        signature = inspect.signature(deployed.forward).parameters
        parameters = list(signature)
        any_name = any(each.kind is each.VAR_KEYWORD for each in signature.values())
        unknown = [name for name in example.kwargs if name not in signature and not any_name]
        if unknown:
            raise UsageError(
                "UNKNOWN_INPUT",
                f"the model has no input {unknown[0]!r}",
                why=f"{type(deployed).__name__}.forward takes: {', '.join(parameters) or 'none'}",
                fix="name the inputs of a live module as its forward does",
            )
    placed = [
        parameters[place] if place < len(parameters) else f"input_{place}"
        for place in range(len(example.args))
    ]
    return (*placed, *example.kwargs)


def record(module: Any, example: Example) -> TorchModel:  # noqa: ANN401
    """A module that ``torch.export`` refused: described by one run, deployed as itself."""
    program = record_run(module, example)
    return TorchModel(kind="module", program=program, deployed=module, cuttable=False)


def record_fed(model: TorchModel, values: Mapping[str, Any]) -> Program:
    """What the deployed object does with these inputs."""
    missing = [name for name in model.program.inputs if name not in values]
    if missing:
        raise UsageError(
            "MISSING_INPUT", f"no value for input {', '.join(map(repr, missing))}",
            fix="give an array for every input by its name",
        )  # fmt: skip
    args, kwargs = model.arguments(values)
    return record_run(model.deployed, Example(args=tuple(args), kwargs=kwargs))


def writing(evaluate: Evaluate) -> Evaluate:
    """The same, but an in-place operator also changes the memory that others see."""

    def written(index: int, step: Step, values: dict[str, Any]) -> Any:  # noqa: ANN401
        result = evaluate(index, step, values)
        schema = getattr(step.target, "_schema", None)
        if schema is not None and schema.is_mutable and isinstance(result, torch.Tensor):
            for name in refs(*step.args[:1]):
                values[name].copy_(result)
        return result

    return written
