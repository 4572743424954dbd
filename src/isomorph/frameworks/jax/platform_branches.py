"""A function that was exported for several platforms, read for one of them.

JAX writes one branch for each platform wherever a platform has a rule of its own, and every matrix
product is such a place: what is left is the branch of the platform that the function is read for.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

CPU, CUDA = "cpu", "cuda"
_INDEX = "jax.global_constant"


def cuda_devices() -> list[Any]:
    """What JAX can use of CUDA in this process."""
    try:
        return list(jax.devices(CUDA))
    except RuntimeError:
        return []


def read_for_one_platform(main: Any, platforms: tuple[str, ...]) -> bool:  # noqa: ANN401
    """Leave the branches of the CPU, else of the first platform.

    Returns whether another platform computes other operations.
    """
    block = main.regions[0].blocks[0]
    attributes = main.attributes.get("arg_attrs", ())
    # The first argument alone is the platform, where there are several: others a caller passes.
    several = len(platforms) > 1 and len(attributes) > 0 and _INDEX in attributes[0]
    if several:
        index = block.arguments[0]
        place = platforms.index(CPU) if CPU in platforms else 0
        width = ir.IntegerType(ir.RankedTensorType(index.type).element_type).width
        with ir.InsertionPoint.at_block_begin(block):
            constant = stablehlo.constant(ir.DenseElementsAttr.get(np.array(place, f"int{width}")))
        index.replace_all_uses_with(getattr(constant, "result", constant))
    differ = _decide(block)
    return several and differ


def _decide(block: Any) -> bool:  # noqa: ANN401
    """Put the branch that a stored number chooses in the place of every such operation."""
    differ = False
    for view in list(block.operations):
        operation = view.operation
        number = _stored(operation.operands[0]) if operation.name == "stablehlo.case" else None
        branches = [region.blocks[0] for region in operation.regions]
        if number is None:
            for region in operation.regions:
                for inner in region.blocks:
                    differ = _decide(inner) or differ
            continue
        # A number beyond the branches chooses the last.
        chosen = branches[number if 0 <= number < len(branches) else -1]
        constants = all(_returns_constants(each) for each in branches)
        differ = differ or not (constants or all(_alike(chosen, each) for each in branches))
        differ = _decide(chosen) or differ
        *operations, end = list(chosen.operations)
        for each in operations:
            each.operation.move_before(operation)
        for result, value in zip(operation.results, list(end.operands), strict=True):
            result.replace_all_uses_with(value)
        operation.erase()
    return differ


def _stored(value: Any) -> int | None:  # noqa: ANN401
    """The number of a stored scalar."""
    owner = getattr(value.owner, "operation", value.owner)
    if getattr(owner, "name", "") != "stablehlo.constant":
        return None
    attribute = owner.attributes["value"]
    if not isinstance(attribute, ir.DenseIntElementsAttr) or len(attribute) != 1:
        return None
    return int(attribute[0])


def _returns_constants(block: Any) -> bool:  # noqa: ANN401
    """Whether a branch computes nothing: it only says which branch comes next."""
    *operations, end = block.operations
    return all(each.operation.name == "stablehlo.constant" for each in operations) and all(
        _stored(value) is not None for value in end.operands
    )


def _alike(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two blocks hold the same operations on the same values."""
    pairs: dict[Any, Any] = {}
    if len(left.operations) != len(right.operations):
        return False
    for one, other in zip(left.operations, right.operations, strict=True):
        a, b = one.operation, other.operation
        # Alone, an operation is printed without the names of what it reads, which come next.
        texts = [each.get_asm(use_local_scope=not len(each.regions)) for each in (a, b)]
        if texts[0] != texts[1] or [pairs.get(x, x) for x in a.operands] != list(b.operands):
            return False
        pairs |= dict(zip(a.results, b.results, strict=True))
    return True
