"""A StableHLO module with other arguments and results: what lies between some tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from isomorph.core.cutting import require_known, walk_back
from isomorph.frameworks.jax.program import JaxNode, JaxProgram

PRECISE: Mapping[str, str] = {"high": "HIGH", "highest": "HIGHEST"}
"""What StableHLO calls the words of ``matmul_precision``."""
_PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")


class Cutter:
    """Cuts one program at any tensors of its main function."""

    def __init__(self, program: JaxProgram) -> None:
        self._program = program
        self._makers: dict[str, JaxNode] = {
            name: node for node in program.nodes for name in node.outputs
        }
        self.stored = program.stored
        self.tensors = frozenset({*program.inputs, *self._makers, *self.stored})

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that no tensor of the main function has."""
        require_known(names, self.tensors)

    def ends(self, fed: Mapping[str, Any], fetch: Sequence[str]) -> list[str]:
        """The inputs that fetching needs and that are not fed."""
        _, ends = walk_back(
            fetch,
            fed,
            lambda name: self._makers[name].outputs if name in self._makers else None,
            lambda outputs: self._makers[outputs[0]].inputs,
        )
        return [name for name in self._program.inputs if name in ends]

    def module(self, fed: Sequence[str], fetch: Sequence[str], precision: str) -> Any:  # noqa: ANN401
        """A module from the fed tensors, in their order, to the fetched ones, in theirs."""
        program = self._program
        with program.module.context, ir.Location.unknown():
            copy, values = copied(program)
            main = _main(copy)
            block = main.regions[0].blocks[0]
            arguments = len(block.arguments)
            wanted = [values[program.values[name]] for name in fetch]
            _bring_out(block, wanted)
            for name in fed:
                value = values[program.values[name]]
                argument = block.add_argument(value.type, ir.Location.name(name))
                value.replace_all_uses_with(argument)
                wanted = [argument if each == value else each for each in wanted]
            _return(block, wanted)
            _keep_needed(block)
            for place in reversed(range(arguments)):
                block.erase_argument(place)
            _declare(main, block, wanted, fetch)
            if precision in PRECISE:
                _set_precision(block, PRECISE[precision])
            return copy


def with_precision(program: JaxProgram, word: str) -> Any:  # noqa: ANN401
    """The exported function with this precision in all products that state none of their own."""
    exported = program.exported
    if word not in PRECISE:
        return exported
    with program.module.context, ir.Location.unknown():
        module = stablehlo.deserialize_portable_artifact(
            program.module.context, bytes(exported.mlir_module_serialized)
        )
        _set_precision(module.body, PRECISE[word])
        data = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
    return replace(exported, mlir_module_serialized=data, _get_vjp=None)


def copied(program: JaxProgram) -> tuple[Any, dict[Any, Any]]:
    """A copy of the module, and its values by those of the original."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for function in program.module.body.operations:
            function.operation.clone()
    blocks = (_main(each).regions[0].blocks[0] for each in (program.module, module))
    return module, dict(_pairs(*blocks))


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """The values of a block and of the regions in it, each with that of a copy of the block."""
    yield from zip(one.arguments, other.arguments, strict=True)
    for left, right in zip(one.operations, other.operations, strict=True):
        yield from zip(left.operation.results, right.operation.results, strict=True)
        for inner, copied in zip(left.operation.regions, right.operation.regions, strict=True):
            for block, own in zip(inner.blocks, copied.blocks, strict=True):
                yield from _pairs(block, own)


def _bring_out(block: Any, wanted: Sequence[Any]) -> None:  # noqa: ANN401
    """Move the operations of the region that makes these values to the end of the main block."""
    maker = wanted[0].owner
    inner = getattr(getattr(maker, "operation", maker), "block", block)
    if inner == block:
        return
    *_, end = block.operations
    *operations, last = list(inner.operations)
    for each in operations:
        each.operation.move_before(end.operation)
    # The region that they came from is not needed and goes with its operation.
    last.operation.erase()


def _main(module: Any) -> Any:  # noqa: ANN401
    return next(
        each for each in module.body.operations
        if each.operation.name == "func.func" and each.attributes["sym_name"].value == "main"
    )  # fmt: skip


def _return(block: Any, wanted: Sequence[Any]) -> None:  # noqa: ANN401
    *_, last = block.operations
    last.operation.erase()
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return", operands=list(wanted))


def _keep_needed(block: Any) -> None:  # noqa: ANN401
    """Remove what nothing reads."""
    *operations, _ = list(block.operations)
    for each in reversed(operations):
        if not any(True for result in each.operation.results for _ in result.uses):
            each.operation.erase()


def _declare(
    main: Any,  # noqa: ANN401
    block: Any,  # noqa: ANN401
    wanted: Sequence[Any],
    fetch: Sequence[str],
) -> None:
    for word in ("arg_attrs", "res_attrs"):
        if word in main.attributes:
            del main.attributes[word]
    results = [{"jax.result_info": ir.StringAttr.get(name)} for name in fetch]
    main.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in results])
    kind = ir.FunctionType.get(
        [each.type for each in block.arguments], [each.type for each in wanted]
    )
    main.attributes["function_type"] = ir.TypeAttr.get(kind)


def _set_precision(block: Any, word: str) -> None:  # noqa: ANN401
    """Ask for this precision wherever a product states none of its own."""
    attribute = ir.Attribute.parse(f"[#stablehlo<precision {word}>, #stablehlo<precision {word}>]")
    for each in (view.operation for view in block.operations):
        for inner in (one for region in each.regions for one in region.blocks):
            _set_precision(inner, word)
        stated = "precision_config" in each.attributes and each.attributes["precision_config"]
        own = "HIGH" in str(stated) or "algorithm" in each.attributes
        if each.name in _PRODUCTS and not own:
            each.attributes["precision_config"] = attribute
