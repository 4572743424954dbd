"""Matrix products of an oracle on the CPU, by the kernel of the other oracles.

Threads of torch cut a product by their number, so that its last bits depend on the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from isomorph.frameworks.pytorch.bound_arguments import bound
from isomorph.frameworks.pytorch.convolution import as_array, plain_float64
from isomorph.frameworks.pytorch.program import Ref, Step
from isomorph.kernels.blocked_products import matrix_product

_ATEN = torch.ops.aten
_MATRICES = frozenset({_ATEN.mm.default, _ATEN.matmul.default})


def multiplied(step: Step, arguments: list[Any], named: dict[str, Any]) -> torch.Tensor | None:
    """The result of a product with one matrix of float64; None for any other operator or type."""
    if step.target is _ATEN.linear.default:
        given = bound(step, arguments, named)
        weight = given["weight"]
        if not _is_matrix(weight):
            return None
        return _product(given["input"], weight.t(), given.get("bias"))
    if step.target is _ATEN.addmm.default:
        given = bound(step, arguments, named)
        if given.get("beta", 1) != 1 or given.get("alpha", 1) != 1:
            return None
        return _product(given["mat1"], given["mat2"], given["self"])
    if step.target in _MATRICES:
        given = bound(step, arguments, named)
        return _product(given["self"], given.get("mat2", given.get("other")), None)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProduct:
    """A product with a constant: the names of its operands; ``transposed``: with the matrix so."""

    rows: str
    matrix: str
    added: str | None = None
    transposed: bool = False


def stored_product(step: Step) -> StoredProduct | None:
    """The operands of a product of two values; None for any other operator."""
    if step.target is _ATEN.linear.default:
        given = bound(step, step.args, step.kwargs)
        names = given["input"], given["weight"], given.get("bias")
    elif step.target is _ATEN.addmm.default:
        given = bound(step, step.args, step.kwargs)
        if given.get("beta", 1) != 1 or given.get("alpha", 1) != 1:
            return None
        names = given["mat1"], given["mat2"], given["self"]
    elif step.target in _MATRICES:
        given = bound(step, step.args, step.kwargs)
        names = given["self"], given.get("mat2", given.get("other")), None
    else:
        return None
    rows, matrix, added = names
    if not (isinstance(rows, Ref) and isinstance(matrix, Ref)):
        return None
    if not (added is None or isinstance(added, Ref)):
        return None
    return StoredProduct(
        rows=rows.name,
        matrix=matrix.name,
        added=None if added is None else added.name,
        transposed=step.target is _ATEN.linear.default,
    )


def _product(x: Any, matrix: Any, added: Any) -> torch.Tensor | None:  # noqa: ANN401
    """``x @ matrix + added``, where all of them are float64 on the CPU."""
    if not _is_matrix(matrix) or not plain_float64(x) or x.dim() < 2:
        return None
    if added is not None and not plain_float64(added):
        return None
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    if rows.shape[1] != matrix.shape[0] or not (rows.numel() and matrix.numel()):
        return None
    # NumPy reads a transposed matrix as it lies.
    found = torch.from_numpy(matrix_product(as_array(rows), matrix.detach().numpy()))
    if added is not None:
        found += added
    return found.reshape(*x.shape[:-1], matrix.shape[1])


def _is_matrix(value: Any) -> bool:  # noqa: ANN401
    return plain_float64(value) and value.dim() == 2
