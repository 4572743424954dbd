"""Dynamic axes that will not stay dynamic."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Abilities, LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import linted_model, node, spec

_FREE = (spec("x", shape=("batch", 4)),)
_RECURRENT = frozenset({"LSTM", "GRU", "RNN", "Loop", "While", "StatelessWhile", "Scan"})


class DynamicAxis:
    """An input has a dynamic axis, and a converter on the way gives it a fixed size.

    Recurrent layers reach TFLite with a fixed batch alone.
    """

    name = "dynamic_axis"
    code = "ISO118"
    positive_examples = (
        linted_model(
            node("Relu"),
            inputs=_FREE,
            to="tflite",
            framework="pytorch",
            abilities=Abilities(fixes_axes=("pytorch_to_tflite",)),
        ),
        linted_model(node("LSTM"), inputs=_FREE, to="tflite", framework="tensorflow"),
    )
    negative_examples = (
        linted_model(node("Relu"), inputs=_FREE, to="onnx", framework="pytorch"),
        linted_model(node("LSTM"), to="tflite", framework="tensorflow"),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such input."""
        recurrent = linted.to == "tflite" and any(each.op in _RECURRENT for each in linted.nodes)
        who = linted.abilities.fixes_axes
        if not recurrent and not who:
            return
        for each in linted.model.graph.inputs:
            free = [
                str(size) if size else f"axis {place}"
                for place, size in enumerate(each.shape or ())
                if not isinstance(size, int)
            ]
            if free:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=message(
                        "ISO118.recurrent" if recurrent else "ISO118.fixed",
                        input=each.name,
                        axes=", ".join(free),
                        converters=", ".join(who),
                    ),
                    advice=message("ISO118.advice"),
                    tensor=each.name,
                )
