"""From a file or an exported function to a program; what is damaged or unsafe is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from jax import export
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.jax.file_structure import SIGNATURE, place_of_module
from isomorph.frameworks.jax.inline import called_by_name, inline
from isomorph.frameworks.jax.mlir_values import name_in
from isomorph.frameworks.jax.platform_branches import read_for_one_platform
from isomorph.frameworks.jax.program import JaxNode, JaxProgram
from isomorph.frameworks.jax.reader import Reader
from isomorph.store.model_bytes import mapped

_KEY = re.compile(r"\['([^'\]]+)'\]")
_RESULT = "result"
_INNER_MAIN = "_wrapped_jax_export_main"
"""What the main function calls where axes are dynamic."""


def open_path(path: Path) -> JaxProgram:
    """Read a file that ``Exported.serialize`` wrote."""
    file = str(path)
    data = bytes(mapped(path))
    place = place_of_module(data)
    if place is None:
        raise UnreadableModelError(
            "NOT_A_MODEL", "this is no exported JAX function, or it is damaged", file=file,
            fix="write it with jax.export.export(…).serialize()",
        )  # fmt: skip
    start, count = place
    if start + count > len(data):
        raise UnreadableModelError(
            "MODEL_TRUNCATED", "the file ends too early", file=file,
            why=f"{len(data):,} bytes, and the StableHLO module ends at byte {start + count:,}",
            fix="export or copy it again",
        )  # fmt: skip
    return program_of(_deserialized(data, file), data, file=file)


def program_of(exported: Any, data: bytes, *, file: str) -> JaxProgram:  # noqa: ANN401
    """The program of an exported function."""
    context = ir.Context()
    context.allow_unregistered_dialects = False
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    with context, ir.Location.unknown():
        module = _module(context, bytes(exported.mlir_module_serialized), file)
        names, calls = _argument_names(module), called_by_name(module)
        main, paths = inline(module, file=file)
        by_platform = read_for_one_platform(main, exported.platforms)
        program = _program(exported, data, module, main, Reader(paths, file=file), names)
        return replace(program, calls=calls, by_platform=by_platform)


def _deserialized(data: bytes, file: str) -> Any:  # noqa: ANN401
    try:
        return export.deserialize(bytearray(data))
    except Exception as error:  # the reader of the flatbuffer has no errors of its own
        raise _damaged(error, file) from error


def _module(context: Any, data: bytes, file: str) -> Any:  # noqa: ANN401
    if not data.startswith(SIGNATURE):
        raise _damaged(ValueError("the module is no MLIR bytecode"), file)
    try:
        module = stablehlo.deserialize_portable_artifact(context, data)
        sound = module.operation.verify()
    except Exception as error:  # MLIR has several
        raise _damaged(error, file) from error
    if not sound:
        raise _damaged(ValueError("MLIR does not verify the module"), file)
    return module


def _damaged(error: Exception, file: str) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_NOT_BUILT", "JAX cannot read this exported function", file=file,
        why=" ".join(f"{type(error).__name__}: {error}".split())[:300],
        fix="the file is damaged, or a newer JAX wrote it: export it again with the installed one",
    )  # fmt: skip


def _argument_names(module: Any) -> tuple[str, ...]:  # noqa: ANN401
    """What the arguments of the main function are called in the user's program."""
    functions = {each.attributes["sym_name"].value: each for each in module.body.operations}
    main = functions.get("main")
    if main is None or not main.regions or not main.regions[0].blocks:
        return ()
    block = main.regions[0].blocks[0]
    names = {value: name_in(value.location) for value in block.arguments}
    inner = functions.get(_INNER_MAIN)
    if inner is not None:
        for each in block.operations:
            if (
                each.operation.name == "func.call"
                and each.attributes["callee"].value == _INNER_MAIN
            ):
                pairs = zip(each.operands, inner.regions[0].blocks[0].arguments, strict=True)
                names.update({o: name_in(a.location) for o, a in pairs if o in names})
    return tuple(names.values())


def _program(  # noqa: PLR0917
    exported: Any,  # noqa: ANN401
    data: bytes,
    module: Any,  # noqa: ANN401
    main: Any,  # noqa: ANN401
    reader: Reader,
    names: tuple[str, ...],
) -> JaxProgram:
    block = main.regions[0].blocks[0]
    operations = list(block.operations)
    inputs, values = _inputs(exported, block, reader, names)
    returned = list(operations[-1].operands)
    results, keyed = _results(exported, main, len(returned))
    given = set(block.arguments)
    makers = [None if value in given else value.owner for value in returned]
    for value, maker, name in zip(returned, makers, results, strict=True):
        if maker is not None and maker.name != "stablehlo.constant":
            reader.prefer(value, name)
    nodes = list(reader.nodes(operations))
    outputs: list[str] = []
    for value, name in zip(returned, results, strict=True):
        own = reader.names[value]
        if own in outputs or own in inputs or own in reader.constants:
            own = _handed_on(reader, value, name, nodes)
            values[own] = value
        outputs.append(own)
    values.update({name: value for value, name in reader.names.items() if name not in values})
    dynamic = any(None in tensor.shape for tensor in reader.tensors.values())
    return JaxProgram(
        name=str(exported.fun_name),
        inputs=inputs,
        outputs=tuple(outputs),
        nodes=tuple(nodes),
        tensors=reader.tensors,
        constants=reader.constants,
        values=values,
        kept=tuple(exported.module_kept_var_idx),
        platforms=tuple(exported.platforms),
        dynamic=dynamic,
        keyed=keyed,
        module=module,
        exported=exported,
        data=data,
    )


def _inputs(
    exported: Any,  # noqa: ANN401
    block: Any,  # noqa: ANN401
    reader: Reader,
    names: tuple[str, ...],
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The inputs in the order of the function, those included that the module does not read."""
    arguments = list(block.arguments)
    extra = len(arguments) - len(exported.module_kept_var_idx)
    if extra < 0:
        raise _damaged(
            ValueError("the module takes fewer arguments than are kept"), exported.fun_name
        )
    read = dict(zip(exported.module_kept_var_idx, arguments[extra:], strict=True))
    called = dict(zip(exported.module_kept_var_idx, names[extra:], strict=True))
    values: dict[str, Any] = {}
    for value in arguments[:extra]:
        reader.define(value, "platform")
    inputs = []
    for place, aval in enumerate(exported.in_avals):
        wanted = _plain(called.get(place) or "") or f"argument{place}"
        if place in read:
            inputs.append(reader.define(read[place], wanted))
        else:
            inputs.append(reader.declare(wanted, str(aval.dtype), _sizes(aval.shape)))
    return tuple(inputs), values


def _sizes(shape: Any) -> tuple[int | None, ...]:  # noqa: ANN401
    return tuple(size if isinstance(size, int) else None for size in shape)


def _results(exported: Any, main: Any, count: int) -> tuple[list[str], bool]:  # noqa: ANN401
    """The names of the results, and whether they are those of a dict."""
    stated = main.attributes.get("res_attrs", ())
    found = [each["jax.result_info"].value if "jax.result_info" in each else "" for each in stated]
    found += [""] * (count - len(found))
    names = [
        _plain(name.removeprefix(_RESULT)) if name.startswith(f"{_RESULT}['") else name
        for name in found
    ]
    tree = jax.tree_util.treedef_children(exported.out_tree)
    keyed = exported.out_tree.node_data() is not None and (
        exported.out_tree.node_data()[0] is dict and len(tree) == count
    )
    return [name or f"{_RESULT}[{place}]" for place, name in enumerate(names)], keyed


def _plain(name: str) -> str:
    """``params['dense']['kernel']`` as ``params.dense.kernel``."""
    return _KEY.sub(r".\1", name).removeprefix(".")


def _handed_on(reader: Reader, value: Any, name: str, nodes: list[JaxNode]) -> str:  # noqa: ANN401
    """An output that is an input, a constant or another output, as the result of a node."""
    source = reader.names[value]
    tensor = reader.tensors[source]
    own = reader.declare(name, tensor.dtype, tensor.shape)
    nodes.append(
        JaxNode(
            name=reader.free_node(f"return/{name}"),
            op="return",
            inputs=(source,),
            outputs=(own,),
            operands=1,
            attributes={},
        )
    )
    return own
