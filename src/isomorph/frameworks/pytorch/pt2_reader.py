"""Reads a plain .pt2 archive as it lies there: no symbolic sizes, no branches, nothing written to.

torch's own reader brings its compiler and a computer algebra system along, which is half of what
checking a model costs. Most programs need neither: their sizes are numbers, and every node is an
ATen operator on tensors. Whatever is not known here for certain is left to torch (None).
"""

from __future__ import annotations

import builtins
import keyword
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from isomorph.frameworks.pytorch.export_reader import order_of, source_of
from isomorph.frameworks.pytorch.in_place_ops import writes_into
from isomorph.frameworks.pytorch.mapped_weights import MappedWeights, parsed
from isomorph.frameworks.pytorch.program import Program, Spec, Step, packet_name
from isomorph.frameworks.pytorch.pt2_values import (
    DTYPES,
    Unknown,
    argument,
    named,
    refuse_elsewhere,
    sizes,
)
from isomorph.frameworks.pytorch.recurrent_stacks import unstacked
from isomorph.frameworks.pytorch.rounding_classes import ASSERTIONS
from isomorph.store.zip_safety import DAMAGE

_SCHEMA = 8
_POSITIONAL, _KEYWORD = 1, 2


def read_static(
    path: Path, documents: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Program, MappedWeights] | None:
    """The program of an archive and its weights; None where torch itself has to read it.

    ``documents`` are members of the archive that were read before.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.partition("/")[2]: name for name in archive.namelist()}
            if [name for name in members if name.startswith("models/")] != ["models/model.json"]:
                return None
            document = parsed(archive, members["models/model.json"], documents)
            weights = MappedWeights(archive, members, path, documents)
            return unstacked(_program(document, weights)), weights
    except (Unknown, LookupError, TypeError, AttributeError):
        return None  # another shape than the one we know
    except DAMAGE:
        return None  # damaged: torch reports how


def _program(document: Mapping[str, Any], weights: MappedWeights) -> Program:
    if document["schema_version"]["major"] != _SCHEMA or document["range_constraints"]:
        raise Unknown("another schema, or sizes that vary")
    graph, signature = document["graph_module"]["graph"], document["graph_module"]["signature"]
    beside = ("sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values")
    if any(graph[what] for what in beside) or graph["is_single_tensor_return"]:
        raise Unknown("values that are no tensors")
    inputs, origins = _inputs(signature["input_specs"])
    taken = [named(each) for each in graph["inputs"]]
    if sorted(taken) != sorted((*inputs, *origins)):
        raise Unknown("inputs under other names")
    outputs = tuple(_returned(entry) for entry in signature["output_specs"])
    if [named(each) for each in graph["outputs"]] != list(outputs):
        raise Unknown("outputs under other names")
    specs = {name: _spec(declared) for name, declared in graph["tensor_values"].items()}
    steps = [step for node in graph["nodes"] for step in _steps(node)]
    made = [name for step in steps for name in step.outputs]
    names = [*taken, *made]
    if len(set(names)) != len(names) or any(map(_renamed, made)):
        raise Unknown("names that torch would change")
    weights.compare_checksums(origins.values())
    offsets = {name: weights.file_offset(target) for name, target in origins.items()}
    return Program(
        name="",
        inputs=inputs,
        outputs=outputs,
        steps=tuple(steps),
        constants={name: weights.tensor(target) for name, target in origins.items()},
        specs={name: specs[name] for name in names},
        origins=origins,
        file_offsets={name: each for name, each in offsets.items() if each is not None},
    )


def _inputs(entries: Sequence[Any]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The inputs of the user, and the constants with the names that they are stored under."""
    inputs, origins = [], {}
    words = {
        "parameter": "parameter_name",
        "buffer": "buffer_name",
        "tensor_constant": "tensor_constant_name",
    }
    for entry in entries:
        ((kind, entry_data),) = entry.items()
        if kind == "user_input":
            inputs.append(named(entry_data["arg"]))
        elif kind in words:
            origins[str(entry_data["arg"]["name"])] = str(entry_data[words[kind]])
        else:
            raise Unknown(f"an input of kind {kind}")
    return tuple(inputs), origins


def _returned(entry: Mapping[str, Any]) -> str:
    ((kind, entry_data),) = entry.items()
    if kind != "user_output":
        raise Unknown(f"an output of kind {kind}")
    return named(entry_data["arg"])


def _spec(declared: Mapping[str, Any]) -> Spec:
    refuse_elsewhere(declared)
    shape = tuple(sizes(declared["sizes"]))
    order = order_of(sizes(declared["strides"]))
    return Spec(dtype=DTYPES[declared["dtype"]], shape=shape, order=order)


def _steps(node: Mapping[str, Any]) -> Iterator[Step]:
    target = _operator(node["target"])
    if packet_name(target) in ASSERTIONS:
        return
    name = str(node["name"] or "")
    outputs, listed = _outputs(node["outputs"])
    if not name or (not listed and outputs != (name,)):
        raise Unknown("a node under another name")
    args, kwargs = _arguments(target, node["inputs"])
    if writes_into(target, args, kwargs):
        raise Unknown("a node that writes")
    metadata = node["metadata"]
    modules = _modules(metadata.get("nn_module_stack"))
    yield Step(
        name=name,
        target=target,
        args=args,
        kwargs=kwargs,
        outputs=outputs,
        listed=listed,
        source=source_of(modules, metadata.get("stack_trace") or ""),
    )


def _operator(word: str) -> Any:  # noqa: ANN401
    first, space, *rest = word.split(".")
    if (first, space) != ("torch", "ops") or rest[:1] != ["aten"] or len(rest) != 3:
        raise Unknown(f"the operator {word}")
    return getattr(getattr(torch.ops.aten, rest[1]), rest[2])


def _outputs(declared: Sequence[Any]) -> tuple[tuple[str, ...], bool]:
    """Their names, and whether they come as a sequence."""
    if len(declared) == 1 and "as_tensors" in declared[0]:
        return tuple(str(each["name"]) for each in declared[0]["as_tensors"]), True
    names = tuple(named(each) for each in declared)
    if not names:
        raise Unknown("a node that gives nothing")
    return names, len(names) > 1


def _arguments(target: Any, declared: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:  # noqa: ANN401
    """As the operator's schema orders them, whatever order they are listed in."""
    given = {each["name"]: each for each in declared}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for expected in target._schema.arguments:
        entry = given.pop(expected.name, None)
        if entry is None:
            if not expected.has_default_value():
                raise Unknown("an argument that is missing")
            continue
        if entry["kind"] == _POSITIONAL:
            args.append(argument(entry["arg"]))
        elif entry["kind"] == _KEYWORD and not keyword.iskeyword(expected.name):
            kwargs[expected.name] = argument(entry["arg"])
        else:
            raise Unknown("an argument of another kind")
    if given:
        raise Unknown("an argument that the operator lacks")
    return tuple(args), kwargs


def _modules(stack: str | None) -> list[str]:
    """The module paths of ``key,path,type;…``, the outermost first."""
    found: dict[str, str] = {}
    for entry in stack.split(";") if stack else ():
        key, path, *others = _at_commas(entry)
        if len(others) != 1:
            raise Unknown("a module stack of another form")
        found[key] = path
    return list(found.values())


def _at_commas(text: str) -> list[str]:
    if not any(bracket in text for bracket in "[]()"):
        return text.split(",")
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _renamed(name: str) -> bool:
    return not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name)
