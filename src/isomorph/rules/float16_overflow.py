"""Numbers that float16 cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node, spec

_MOST = float(np.finfo(np.float16).max)


class Float16Overflow:
    """A constant or a bound of the model lies beyond ±65504, and becomes infinite in float16.

    Masks of −1e9 are the usual case: −inf in a row that is masked as a whole makes NaN of its
    softmax. Sums over more elements than float16 can count are reported too.
    """

    name = "float16_overflow"
    code = "ISO110"
    positive_examples = (
        linted_model(
            node("Where", "m", "x", "low"),
            constants=(constant("low", -1e9, shape=()),),
            width="float16",
        ),
        linted_model(node("Clip", min=-1e6, max=1e6), width="float16"),
        linted_model(
            node("ReduceSum"),
            inputs=(spec("x", shape=(2, 70000)),),
            tensors=(spec("y", shape=(2, 1)),),
            width="float16",
        ),
    )
    negative_examples = (
        linted_model(
            node("Where", "m", "x", "low"),
            constants=(constant("low", -1e4, shape=()),),
            width="float16",
        ),
        linted_model(node("Where", "m", "x", "low"), constants=(constant("low", -1e9, shape=()),)),
        linted_model(
            node("Add", "x", "low"),
            constants=(constant("low", 1e9, shape=(), dtype="int64"),),
            width="float16",
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each constant, attribute or sum."""
        if linted.width != "float16":
            return
        for stored in linted.model.graph.constants.values():
            if stored.dtype in {"float32", "float64"} and _beyond(stored.values or ()):
                yield self._remark(message("ISO110.constant", constant=stored.name), stored.name)
        for each in linted.nodes:
            wide = [name for name, value in each.attributes.items() if _beyond((value,))]
            floats = linted.dtype(each.outputs[0]) in {"float32", "float64"}
            if wide and floats and each.op in {"Clip", "Pad", "LeakyRelu", "Mul", "Add"}:
                yield self._remark(
                    message("ISO110.attribute", names=", ".join(wide), op=each.op), None, each.name
                )
            if each.op == "ReduceSum" and _summed(linted, each.inputs[0], each.outputs[0]) > _MOST:
                yield self._remark(message("ISO110.sum", op=each.op), None, each.name)

    def _remark(self, text: str, tensor: str | None, node_name: str | None = None) -> Remark:
        return Remark(
            code=self.code,
            check=self.name,
            severity=Severity.ERROR if tensor is not None else Severity.WARNING,
            message=text,
            advice=message("ISO110.advice"),
            node=node_name,
            tensor=tensor,
        )


def _beyond(values: tuple[object, ...]) -> bool:
    numbers = (value for value in values if isinstance(value, float))
    return any(_MOST < abs(value) < float("inf") for value in numbers)


def _summed(linted: LintedModel, before: str, after: str) -> float:
    """How many elements go into one, where both shapes are known."""
    sizes = []
    for name in (before, after):
        known = linted.model.graph.tensors.get(name)
        shape = known.shape if known is not None else None
        if shape is None or not all(isinstance(size, int) for size in shape):
            return 0.0
        sizes.append(float(np.prod([float(size) for size in shape if isinstance(size, int)])))
    return sizes[0] / max(sizes[1], 1.0)
