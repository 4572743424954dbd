"""A constant that looks like the batch, or the length, of the example that was exported with."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node, spec

_FREE = (spec("x", shape=("batch", 3, 4)),)
_SHAPED = frozenset({"Reshape", "Expand", "Tile", "ConstantOfShape", "BroadcastTo"})


class FrozenAxis:
    """The model declares a dynamic axis, and a shape inside it is a constant without a free place.

    A reshape to (2, 12) instead of (-1, 12) holds for a batch of 2 alone. Exporters that follow
    one run leave such constants behind.
    """

    name = "frozen_axis"
    code = "ISO106"
    positive_examples = (
        linted_model(
            node("Reshape", "x", "shape"),
            inputs=_FREE,
            constants=(constant("shape", 2, 12, dtype="int64"),),
        ),
    )
    negative_examples = (
        linted_model(
            node("Reshape", "x", "shape"),
            inputs=_FREE,
            constants=(constant("shape", -1, 12, dtype="int64"),),
        ),
        linted_model(
            node("Reshape", "x", "shape"),
            inputs=(spec("x", shape=(2, 3, 4)),),
            constants=(constant("shape", 2, 12, dtype="int64"),),
        ),
        linted_model(
            node("Reshape", "w", "shape"),
            inputs=_FREE,
            constants=(constant("shape", 2, 12, dtype="int64"), constant("w", shape=(24,))),
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node that depends on a dynamic input."""
        graph = linted.model.graph
        free = {
            each.name
            for each in graph.inputs
            if any(not isinstance(size, int) for size in each.shape or ())
        }
        for each in graph.nodes:
            if not free & set(each.inputs):
                continue
            free |= set(each.outputs)
            shape = _constant_shape(linted, each.inputs[1:2], each.op)
            if shape and all(size > 0 for size in shape) and len(shape) > 1:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=message("ISO106.frozen", op=each.op, shape="×".join(map(str, shape))),
                    advice=message("ISO106.frozen_advice"),
                    node=each.name,
                    source=each.source,
                )


def _constant_shape(linted: LintedModel, names: tuple[str, ...], op: str) -> tuple[int, ...]:
    if op not in _SHAPED or not names:
        return ()
    stored = linted.model.graph.constants.get(names[0])
    if stored is None or not stored.values or "int" not in stored.dtype:
        return ()
    return tuple(int(size) for size in stored.values)
