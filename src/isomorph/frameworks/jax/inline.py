"""Writes the calls of a StableHLO module out, so that every operation is one of the main function.

JAX calls a function for much that it computes: ``relu``, ``sort``, every cached ``jit``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isomorph.core.errors import UnreadableModelError, listed
from isomorph.core.program_limits import MOST_STABLEHLO_LEVELS, MOST_STABLEHLO_OPERATIONS
from isomorph.frameworks.jax.mlir_values import name_in
from isomorph.frameworks.jax.op_facts import COMPOSITES

TRACED = "jit("
"""What the name of an operation begins with that states its whole path."""


def inline(module: Any, *, file: str) -> tuple[Any, dict[Any, str]]:  # noqa: ANN401
    """Return the main function of the module, with its calls written out in place.

    Operations of a function that is called have names of their own; the second result holds, by
    what such an operation returns, the path of the call.
    """
    functions = {_name(each): each for each in module.body.operations}
    main = functions.get("main")
    if main is None or main.operation.name != "func.func":
        raise UnreadableModelError(
            "NO_GRAPH", "the StableHLO module has no main function", file=file
        )
    _refuse_growth(functions, file)
    paths: dict[Any, str] = {}
    waiting = [each for each in _inside(main.operation) if callee_of(each) is not None]
    while waiting:
        call = waiting.pop()
        body = functions[str(callee_of(call))]
        waiting += _written_out(call, body, paths)
    for operation in list(_inside(main.operation)):
        if operation.name == "stablehlo.while":
            _read_from_around(operation)
    return main, paths


def called_by_name(module: Any) -> frozenset[str]:  # noqa: ANN401
    """The libraries that any operation of the module calls by name."""
    return frozenset(
        str(each.attributes["call_target_name"].value)
        for function in module.body.operations
        for each in _inside(function.operation)
        if each.name == "stablehlo.custom_call"
    )


def path_of(operation: Any, paths: Mapping[Any, str]) -> str:  # noqa: ANN401
    """The name of an operation, behind the path of the call that it belongs to."""
    name = name_in(operation.location)
    if name.startswith(TRACED):
        return name.partition("/")[2]
    around = next((paths[each] for each in operation.results if each in paths), "")
    return "/".join(word for word in (around, name.rstrip(":")) if word)


def callee_of(operation: Any) -> str | None:  # noqa: ANN401
    """The function that an operation stands for; None for one that has a meaning of its own."""
    name = operation.name
    if name == "func.call":
        return str(operation.attributes["callee"].value)
    if name != "stablehlo.composite":
        return None
    if operation.attributes["name"].value in COMPOSITES:
        return None
    return str(operation.attributes["decomposition"].value)


def _name(operation: Any) -> str:  # noqa: ANN401
    attributes = operation.attributes
    return str(attributes["sym_name"].value) if "sym_name" in attributes else ""


def _inside(operation: Any, depth: int = 0) -> Iterator[Any]:  # noqa: ANN401
    if depth > MOST_STABLEHLO_LEVELS:
        raise UnreadableModelError("NESTING_TOO_DEEP", "regions are nested too deep")
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield each.operation
                yield from _inside(each.operation, depth + 1)


def _written_out(call: Any, function: Any, paths: dict[Any, str]) -> list[Any]:  # noqa: ANN401
    """Move a copy of the body before the call, and return the calls that are in it."""
    copy = function.operation.clone()
    block = copy.regions[0].blocks[0]
    around = path_of(call, paths)
    for argument, value in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    *operations, end = list(block.operations)
    found = []
    for each in operations:
        each.operation.move_before(call)
        for one in (each.operation, *_inside(each.operation)):
            paths.update((result, around) for result in one.results)
            if callee_of(one) is not None:
                found.append(one)
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    end.operation.erase()
    call.erase()
    copy.operation.erase()
    return found


def _read_from_around(loop: Any) -> None:  # noqa: ANN401
    """Let a loop read what no round changes, weights above all, from around it."""
    test, body = (region.blocks[0] for region in loop.regions)
    *_, end = body.operations
    carried = zip(test.arguments, body.arguments, loop.operands, list(end.operands), strict=True)
    for asked, own, start, result in list(carried):
        if result == own:
            asked.replace_all_uses_with(start)
            own.replace_all_uses_with(start)


def _refuse_growth(functions: Mapping[str, Any], file: str) -> None:
    """Refuse functions that call themselves, and calls that multiply beyond all measure."""
    sizes: dict[str, int] = {}

    def size(name: str, callers: tuple[str, ...]) -> int:
        if name in callers:
            raise UnreadableModelError(
                "RECURSIVE_FUNCTION", "a function calls itself", file=file,
                where=listed([*callers[callers.index(name) :], name]),
            )  # fmt: skip
        if len(callers) > MOST_STABLEHLO_LEVELS:
            raise UnreadableModelError("NESTING_TOO_DEEP", "calls are nested too deep", file=file)
        if name not in functions:
            raise UnreadableModelError(
                "MISSING_FUNCTION", "a function is called that the module does not hold",
                file=file, where=name,
            )  # fmt: skip
        if name not in sizes:
            inside = list(_inside(functions[name].operation))
            called = [callee for each in inside if (callee := callee_of(each)) is not None]
            sizes[name] = len(inside) + sum(size(each, (*callers, name)) for each in called)
        return sizes[name]

    if (count := size("main", ())) > MOST_STABLEHLO_OPERATIONS:
        raise UnreadableModelError(
            "MODEL_TOO_LARGE", "the calls of this module write out to too many operations",
            file=file, why=f"{count:,} operations; at most {MOST_STABLEHLO_OPERATIONS:,} are read",
        )  # fmt: skip
