"""Constants as a converter folds them: a normalisation merged into the linear node before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.diagnose import constants

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


def folded(case: Case) -> Iterator[tuple[str, Array]]:
    """Weight and bias of the counterpart's linear node with its normalisation worked in."""
    linear = next((node for node in case.counterparts if node.op in _LINEAR), None)
    norm = next((node for node in case.counterparts if node.op == "BatchNormalization"), None)
    if linear is None or norm is None:
        return
    scale_and_shift = _scale_and_shift(case, norm)
    if scale_and_shift is None:
        return
    scale, shift = scale_and_shift
    held = [case.constant(case.reference, n) for n in constants.floats(case.reference, [linear])]
    weights = [each for each in held if each is not None and each.ndim >= 2]
    biases = [each for each in held if each is not None and each.shape == scale.shape]
    for weight in weights:
        axis = 1 if linear.op in {"ConvTranspose", "MatMul"} else 0
        if weight.shape[axis] == scale.size:
            lined_up = [scale.size if each == axis else 1 for each in range(weight.ndim)]
            yield f"{linear.name} with {norm.name}", weight * scale.reshape(lined_up)
    bias = biases[0] if biases else np.zeros_like(scale)
    yield f"{linear.name} with {norm.name}", bias * scale + shift


def _scale_and_shift(case: Case, norm: Node) -> tuple[Array, Array] | None:
    """What a normalisation in inference multiplies by and adds."""
    read = [case.constant(case.reference, name) for name in norm.inputs[1:5]]
    held = [each for each in read if each is not None]
    epsilon = norm.attributes.get("epsilon", norm.attributes.get("eps"))
    if len(held) != 4 or epsilon is None:
        return None
    gamma, beta, mean, variance = (each.astype(np.float64) for each in held)
    scale = gamma / np.sqrt(variance + float(epsilon))
    return scale, beta - mean * scale
