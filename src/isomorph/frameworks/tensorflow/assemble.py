"""From TensorFlow's message of a frozen graph to the program: cleaned, named, with its bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from isomorph.frameworks.tensorflow.function_bodies import body_of
from isomorph.frameworks.tensorflow.function_library import rename_functions
from isomorph.frameworks.tensorflow.inline import follow, inline_calls
from isomorph.frameworks.tensorflow.program import (
    Port,
    Spec,
    TfProgram,
    native_name,
    needed,
    part_of,
    place_of,
    read_constants,
    read_nodes,
    tensor_name,
)
from isomorph.frameworks.tensorflow.tensor_specs import read_specs

# What freezing, inlining and reading a variable leave behind: names for the same value.
_LEFTOVER = re.compile(r"(.*/)?Func/.*|(.*/)?(Identity|ReadVariableOp)(_\d+)?")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.\\/>-]")
_NUMBERED = re.compile(r"_(frozen_)?\d+$")


def assemble(
    graph_def: Any,  # noqa: ANN401
    inputs: Sequence[tuple[str, str]],
    outputs: Sequence[tuple[str, str]],
    *,
    constants: Mapping[str, str] | None = None,
    unordered: bool = False,
) -> TfProgram:
    """The program of a graph, which is taken over: it may be large, and is not copied.

    ``inputs`` and ``outputs`` are pairs of a signature's name and a tensor; those tensors take
    the signature's names. ``constants`` maps names of constants to those of their variables.
    """
    _name_functions(graph_def)
    programs: dict[str, TfProgram] = {}
    functions = MappingProxyType(programs)
    for function in graph_def.library.function:
        programs[function.signature.name] = _body(function, graph_def, functions)
    return _program(
        "", graph_def, inputs, outputs,
        constants=constants or {}, functions=functions, unordered=unordered,
    )  # fmt: skip


def _body(function: Any, whole: Any, functions: Mapping[str, TfProgram]) -> TfProgram:  # noqa: ANN401
    signatures = {each.signature.name: each.signature for each in whole.library.function}
    body, inputs, results = body_of(function, signatures)
    body.library.CopyFrom(whole.library)
    given = [(f"input_{place}", name) for place, name in enumerate(inputs)]
    returned = [(f"output_{place}", tensor) for place, tensor in enumerate(results)]
    name = function.signature.name
    return _program(name, body, given, returned, constants={}, functions=functions)


def _program(
    name: str,
    graph_def: Any,  # noqa: ANN401
    inputs: Sequence[tuple[str, str]],
    outputs: Sequence[tuple[str, str]],
    *,
    constants: Mapping[str, str],
    functions: Mapping[str, TfProgram],
    unordered: bool = False,
) -> TfProgram:
    flat, results = inline_calls(graph_def, [tensor_name(tensor) for _, tensor in outputs])
    flat, results = _without_leftovers(flat, results)
    keep = needed(flat, results) | {place_of(tensor)[0] for _, tensor in inputs}
    flat = part_of(flat, keep)
    for node in flat.node:
        _unplace(node)
    names = _chosen_names(flat, inputs, constants)
    flat = _renamed(flat, names)
    results = [_rename(names, result) for result in results]
    given = [names.get(place_of(tensor)[0], tensor_name(tensor)) for _, tensor in inputs]
    specs, numbers = read_specs(flat)
    returned = _give_outputs(flat, [key for key, _ in outputs], results, numbers)
    specs |= {new: specs[old] for new, old in zip(returned, results, strict=True) if old in specs}
    return TfProgram(
        name=name,
        graph_def=flat,
        inputs=_ports([key for key, _ in inputs], given, specs),
        outputs=_ports([key for key, _ in outputs], returned, specs),
        nodes=read_nodes(flat, returned),
        constants=read_constants(flat),
        specs=specs,
        functions=functions,
        unordered=unordered,
    )


def _ports(keys: Sequence[str], tensors: Sequence[str], specs: Mapping[str, Spec]) -> Any:  # noqa: ANN401
    return tuple(
        Port(name=key, tensor=tensor, spec=specs.get(tensor, Spec()))
        for key, tensor in zip(keys, tensors, strict=True)
    )


def _without_leftovers(graph_def: Any, outputs: list[str]) -> tuple[Any, list[str]]:  # noqa: ANN401
    moved = {
        f"{node.name}:0": native_name(tensor_name(node.input[0]))
        for node in graph_def.node
        if node.op == "Identity" and _LEFTOVER.fullmatch(node.name)
    }
    for node in graph_def.node:
        for place, reference in enumerate(node.input):
            node.input[place] = follow(moved, reference)
    return graph_def, [follow(moved, tensor) for tensor in outputs]


def _chosen_names(
    graph_def: Any,  # noqa: ANN401
    inputs: Sequence[tuple[str, str]],
    constants: Mapping[str, str],
) -> dict[str, str]:
    """New names of operations: inputs by the signature, weights by their variables."""
    wanted = {place_of(tensor)[0]: key for key, tensor in inputs}
    present = {node.name for node in graph_def.node}
    wanted |= {old: new for old, new in constants.items() if old in present and old not in wanted}
    taken = present - set(wanted)
    chosen = {}
    for old, new in wanted.items():
        chosen[old] = _free(new, taken)
        taken.add(chosen[old])
    return chosen


def _free(wanted: str, taken: set[str]) -> str:
    """A legal name that nobody has."""
    legal = _ILLEGAL.sub("_", wanted)
    legal = legal if legal[:1].isalnum() or legal[:1] == "." else f"n{legal}"
    name, count = legal, 1
    while name in taken:
        name, count = f"{legal}_{count}", count + 1
    return name


def _renamed(graph_def: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401
    for node in graph_def.node:
        node.name = names.get(node.name, node.name)
        for place, reference in enumerate(node.input):
            node.input[place] = _rename(names, reference)
    return graph_def


def _rename(names: Mapping[str, str], reference: str) -> str:
    if reference.startswith("^"):
        return f"^{names.get(reference[1:], reference[1:])}"
    operation, index = place_of(reference)
    return tensor_name(f"{names.get(operation, operation)}:{index}")


def _give_outputs(
    graph_def: Any,  # noqa: ANN401
    keys: Sequence[str],
    results: Sequence[str],
    numbers: Mapping[str, int],
) -> list[str]:
    """An identity by the signature's name behind each output: one tensor may be several outputs.

    An output of a bare graph is known by the operation that gives it, and stays what it is.
    """
    taken = {node.name for node in graph_def.node}
    returned = []
    for key, result in zip(keys, results, strict=True):
        if key == result:
            returned.append(result)
            continue
        identity = graph_def.node.add()
        identity.name, identity.op = _free(key, taken), "Identity"
        identity.input.append(result)
        identity.attr["T"].type = numbers.get(result, tf.float32.as_datatype_enum)
        taken.add(identity.name)
        returned.append(identity.name)
    return returned


def _unplace(node: Any) -> None:  # noqa: ANN401
    """Forget on which device, or beside which node, it was made: neither may be here."""
    node.device = ""
    node.attr.pop("_class", None)


def _name_functions(graph_def: Any) -> None:  # noqa: ANN401
    """Name the functions by what they are, not by a counter of the process."""
    names: dict[str, str] = {}
    for function in graph_def.library.function:
        stem = function.signature.name.removeprefix("__inference_")
        while _NUMBERED.search(stem):
            stem = _NUMBERED.sub("", stem)
        names[function.signature.name] = _free(stem or "function", set(names.values()))
        for node in function.node_def:
            _unplace(node)
    rename_functions(graph_def, names)
    graph_def.library.function.sort(key=lambda function: function.signature.name)
    del graph_def.library.gradient[:]
