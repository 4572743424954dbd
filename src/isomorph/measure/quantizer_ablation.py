"""The cost of one quantizer at the outputs: the same model with this tensor in float.

This uses the float64 oracle, where only the quantizers round: the readers get the values that the
quantizer was given, all other tensors stay quantized, and the error of the outputs against the
reference is measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import KEPT_IN_FLOAT, KEPT_IN_FLOAT_WEIGHTS
from isomorph.core.messages import message
from isomorph.match.dequantized_graph import implicit_grids
from isomorph.measure.precision import QUANTIZED_OPS
from isomorph.measure.quantization_grid import Grid
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph, Node, Quantization
    from isomorph.core.patch import Edit, Patch
    from isomorph.core.quantized_tensor import QuantizedTensor
    from isomorph.core.trace import Array, Arrays
    from isomorph.measure.quantizer_stats import Audit

_INTEGER_OPS = QUANTIZED_OPS - {"QuantizeLinear", "DequantizeLinear", "FakeQuant"}
"""Operators that read the quantization of their operands."""


def with_gains(
    rows: Sequence[QuantizedTensor], audit: Audit, outputs: Sequence[Divergence]
) -> tuple[QuantizedTensor, ...]:
    """Add to each row the share of the outputs' error that its quantizer causes."""
    before = _error(audit, outputs, None)
    if not before:
        return tuple(rows)
    entries = {entry.tensor: entry for entry in audit.entries if not _read_only(audit, entry)}
    measured, left = [], _tries(audit.graph)
    for row in rows:
        entry = entries.get(row.tensor) if left and not row.misread else None
        after = None if entry is None else _error(audit, outputs, entry)
        left -= after is not None
        measured.append(row if after is None else replace(row, gain=1.0 - after / before))
    return tuple(measured)


def _tries(graph: Graph) -> int:
    stored = sum(int(np.prod(each.shape)) for each in graph.constants.values())
    least, most = KEPT_IN_FLOAT
    return min(max(KEPT_IN_FLOAT_WEIGHTS // max(stored, 1), least), most)


def _read_only(audit: Audit, entry: Quantization) -> bool:
    """Whether the entry is a reader's quantization of integers written with another one."""
    return entry is not audit.writers.get(entry.tensor, entry)


def _error(audit: Audit, outputs: Sequence[Divergence], entry: Quantization | None) -> float | None:
    """Return the norm of all outputs' relative errors; None where they cannot be compared."""
    names = [(d.reference_output, d.candidate_output) for d in outputs]
    pairs = [(ref, cand) for ref, cand in names if ref is not None and cand is not None]
    right = audit.reference.oracle_outputs() if audit.reference is not None else None
    if right is None or isinstance(right, IsomorphError) or not pairs:
        return None
    try:
        found = _run(audit, [cand for _, cand in pairs], entry)
    except (IsomorphError, ValueError):
        return None
    if found is None:
        return None
    errors = [_apart(right.get(m), _real(audit, y, np.asarray(found[y]))) for m, y in pairs]
    known = [each for each in errors if each is not None]
    return float(np.linalg.norm(known)) if len(known) == len(errors) else None


def _run(audit: Audit, fetch: Sequence[str], entry: Quantization | None) -> Arrays | None:
    """Return the outputs in float64, with one tensor in float; None if that is impossible."""
    oracle, feeds = audit.candidate.oracle(), audit.candidate.feeds
    if entry is None:
        return oracle.run(feeds, fetch)
    real = audit.unrounded(entry)
    readers = [node for node in audit.graph.nodes if entry.tensor in node.inputs]
    if real is None or not readers:
        return None
    real = Grid(entry).rectified(real)
    if all(node.op == "DequantizeLinear" for node in readers):
        back = dict.fromkeys((node.outputs[0] for node in readers), real)
        return oracle.run({**feeds, **back}, fetch)
    handle = audit.candidate.handle
    if handle is None or entry.tensor not in audit.graph.constants:
        return None  # kernels that compute on integers take no real values
    patch = _patch(audit, entry, real, readers)
    return None if patch is None else handle.host.rehearse(handle.model, patch, feeds, fetch)


def _patch(audit: Audit, entry: Quantization, real: Array, readers: Sequence[Node]) -> Patch | None:
    """Return a patch that gives every reader of a stored tensor its real values.

    Where the quantization is stored with the tensor, the reader must compute in float. Where it is
    an operand of the reader, it stays, and the values are given in steps, unrounded.
    """
    operand, grid = all(node.op in _INTEGER_OPS for node in readers), Grid(entry)
    apart = entry.tensor in implicit_grids(audit.graph)
    apart = apart and not any(node.op in _INTEGER_OPS for node in audit.graph.nodes)
    if not apart and not (operand and grid.whole and grid.fits(real.shape)):
        return None
    value = real.astype(np.float32) if apart else grid.steps(real)
    from isomorph.core.patch import AddConstant, KeepFloat, Patch, SetInput

    edits: list[Edit] = []
    for node in readers:
        name = f"{entry.tensor}_float_{node.name}"
        place = node.inputs.index(entry.tensor)
        edits.append(AddConstant(name=name, value=value))
        edits.append(SetInput(node=node.name, index=place, tensor=name))
        edits += [KeepFloat(node=node.name)] if apart else []
    return Patch(
        summary=message("PATCH.keep_tensor_float", tensor=entry.tensor), edits=tuple(edits)
    )


def _real(audit: Audit, name: str, value: Array) -> Array | None:
    entry = audit.writers.get(name)
    return value if entry is None or value.dtype.kind == "f" else real_values(value, entry)


def _apart(right: Array | None, found: Array | None) -> float | None:
    if right is None or found is None or right.shape != found.shape:
        return None
    wide = np.asarray(right, np.float64)
    size = float(np.linalg.norm(wide)) or 1.0
    gap = float(np.linalg.norm(wide - found)) / size
    return gap if np.isfinite(gap) else None
