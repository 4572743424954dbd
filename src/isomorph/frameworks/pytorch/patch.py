"""A PyTorch program with other weights, or with other arguments of its operators.

An exported program gets both, TorchScript and a bare state (.safetensors) weights alone. Torch's
own objects are given the new values, written, and given the old ones back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isomorph.core import patch as edits
from isomorph.core.errors import UsageError
from isomorph.frameworks.pytorch.model import TorchModel
from isomorph.frameworks.pytorch.program import Step, operator_name
from isomorph.frameworks.pytorch.silence_logs import quietly
from isomorph.store.atomic import new_file

if TYPE_CHECKING:
    from isomorph.core.patch import Patch

STATE = ".safetensors"

Weights = Mapping[str, Any]
"""Tensors by their names in the module's state."""


def patched_in_memory(model: TorchModel, patch: Patch) -> TorchModel:
    """The patched program in memory; what no file of this kind could hold is not tried."""
    if not model.cuttable:
        raise _impossible("a module that decides in Python has no program to patch")
    constants = dict(model.program.constants)
    steps = {step.name: step for step in model.program.steps}
    for edit in patch.edits:
        match edit:
            case edits.SetConstant(tensor=name) if name in constants:
                constants[name] = _tensor(edit.value, constants[name])
            case edits.SetAttribute(node=name) if name in steps and model.kind == "exported":
                steps[name] = _with_argument(steps[name], edit.name, edit.value)
            case _:
                raise _impossible(
                    f"{type(edit).__name__} cannot be written into a model of kind {model.kind!r}"
                )
    program = replace(model.program, constants=constants, steps=tuple(steps.values()))
    return replace(model, program=program)


def _tensor(value: Any, like: Any) -> Any:  # noqa: ANN401
    array = np.ascontiguousarray(np.asarray(value))
    fresh = torch.from_numpy(array).to(like.dtype)
    if fresh.numel() != like.numel():
        raise _impossible(f"{fresh.numel()} values do not fit in the place of {like.numel()}")
    return fresh.reshape(like.shape)


def _with_argument(step: Step, word: str, value: Any) -> Step:  # noqa: ANN401
    place, now = _argument(step, word)
    fitted = _fitted(now, value)
    if place is None:
        return replace(step, kwargs={**step.kwargs, word: fitted})
    return replace(step, args=(*step.args[:place], fitted, *step.args[place + 1 :]))


def _argument(step: Step, word: str) -> tuple[int | None, Any]:
    """The place of an argument among the positional ones, None where it has none, and its value."""
    schema = getattr(step.target, "_schema", None)
    for place, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.name != word:
            continue
        if place < len(step.args) and not argument.kwarg_only:
            return place, step.args[place]
        default = argument.default_value if argument.has_default_value() else None
        return None, step.kwargs.get(word, default)
    raise _impossible(f"{operator_name(step.target)} {step.name!r} has no argument {word!r}")


def _fitted(now: Any, value: Any) -> Any:  # noqa: ANN401
    """The value as what the argument is."""
    if isinstance(now, bool):
        return bool(value)
    if isinstance(now, int) and isinstance(value, (int, float)) and float(value).is_integer():
        return int(value)
    if isinstance(now, float) and isinstance(value, (int, float)):
        return float(value)
    if isinstance(now, str) and isinstance(value, str):
        return value
    lists = isinstance(now, (list, tuple)) and isinstance(value, (list, tuple))
    if lists and _is_plain(now) and _is_plain(value):
        return type(now)(value)
    raise _impossible(f"the value {value!r} does not fit in the place of {now!r}")


def write_patched(model: TorchModel, patch: Patch, path: Path) -> None:
    """The copy: a state where the suffix is that of one, else in the format of the original."""
    after = patched_in_memory(model, patch).program
    whole = model.complete()
    weights = {
        after.origins.get(name, name): value
        for name, value in after.constants.items()
        if value is not model.program.constants[name]
    }
    before = {step.name: step for step in model.program.steps}
    steps = [step for step in after.steps if before[step.name] is not step]
    if path.suffix == STATE:
        _write_state(whole, weights, steps, path)
    elif whole.kind == "script":
        with _held(_script_tensors(whole), weights), quietly(), new_file(path) as stream:
            stream.write(whole.deployed.save_to_buffer())
    elif whole.exported is not None:
        with _patched_export(whole.exported, weights, steps), quietly(), new_file(path) as stream:
            torch.export.save(whole.exported, stream)
    else:
        raise _impossible("a module that torch.export refuses has no file format")


def _write_state(whole: TorchModel, weights: Weights, steps: Iterable[Step], path: Path) -> None:
    from safetensors.torch import save

    if any(True for _ in steps):
        raise _impossible("a state holds weights, and no arguments of operators")
    tensors = _script_tensors(whole) if whole.exported is None else whole.exported.state_dict
    missing = sorted(weights.keys() - tensors.keys())
    if missing:
        raise _impossible(f"{missing[0]!r} is no part of the module's state")
    state = {name: weights.get(name, value).detach() for name, value in tensors.items()}
    with new_file(path) as stream:
        # Tied weights share memory, which a state on disk cannot.
        stream.write(save({name: value.clone().contiguous() for name, value in state.items()}))


def _script_tensors(whole: TorchModel) -> dict[str, Any]:
    if whole.kind != "script":
        return {}
    return {**dict(whole.deployed.named_parameters()), **dict(whole.deployed.named_buffers())}


@contextmanager
def _held(tensors: Mapping[str, Any], weights: Weights) -> Iterator[None]:
    """Tensors with other values for a while."""
    missing = sorted(weights.keys() - tensors.keys())
    if missing:
        raise _impossible(f"{missing[0]!r} is no weight of the file")
    old = {name: tensors[name].detach().clone() for name in weights}
    try:
        with torch.no_grad():
            for name, value in weights.items():
                tensors[name].copy_(value)
        yield
    finally:
        with torch.no_grad():
            for name, value in old.items():
                tensors[name].copy_(value)


@contextmanager
def _patched_export(exported: Any, weights: Weights, steps: Iterable[Step]) -> Iterator[None]:  # noqa: ANN401
    """An exported program with other weights and arguments for a while."""
    nodes = {node.name: node for node in exported.graph_module.graph.nodes}
    replaced = []
    for step in steps:
        node = nodes.get(step.name)
        if node is None or node.target is not step.target:
            raise _impossible(f"the file has no node that is {step.name!r} alone")
        replaced.append((node, step, node.args, node.kwargs))
    with _held({**exported.constants, **exported.state_dict}, weights):
        try:
            for node, step, args, kwargs in replaced:
                node.args = tuple(map(_merged, args, step.args))
                fresh = {k: v for k, v in step.kwargs.items() if _is_plain(v)}
                node.kwargs = {**kwargs, **fresh}
            yield
        finally:
            for node, _, args, kwargs in replaced:
                node.args, node.kwargs = args, kwargs


def _merged(ref: Any, cand: Any) -> Any:  # noqa: ANN401
    """The node's own argument where a tensor goes in, the step's where it is a plain value."""
    return cand if _is_plain(cand) else ref


def _is_plain(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, int) for each in value)
    return isinstance(value, (bool, int, float, str))


def _impossible(what: str) -> UsageError:
    return UsageError(
        "PATCH_NOT_POSSIBLE", what, fix="change it in the source, and export the model again"
    )
