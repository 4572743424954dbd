"""Names that are missing, doubled, or that a converter cannot take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import Node
from isomorph.core.rule_examples import linted_model, node, spec


class NodeNames:
    """Nodes without a name of their own, or inputs whose names begin with an underscore.

    Reports then name a node by its operator and output. Some converters stop at an underscore.
    """

    name = "node_names"
    code = "ISO114"
    positive_examples = (
        linted_model(node("Relu", name="Relu@y")),
        linted_model(node("Relu"), inputs=(spec("_x"),), to="tensorflow"),
    )
    negative_examples = (
        linted_model(node("Relu")),
        linted_model(node("Relu"), inputs=(spec("_x"),)),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for all unnamed nodes, and one for each such input."""
        unnamed = [each for each in linted.nodes if each.name == f"{each.op}@{_first(each)}"]
        if unnamed and linted.model.framework == "onnx":
            most = Counter(each.op for each in unnamed).most_common(3)
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.NOTE,
                message=message(
                    "ISO114.unnamed_one" if len(unnamed) == 1 else "ISO114.unnamed",
                    count=len(unnamed),
                    kinds=", ".join(f"{count} {op}" for op, count in most),
                ),
                advice=message("ISO114.unnamed_advice"),
                node=unnamed[0].name,
            )
        if linted.to in {"tensorflow", "tflite"}:
            for each in linted.model.graph.inputs:
                if each.name.startswith("_"):
                    yield Remark(
                        code=self.code,
                        check=self.name,
                        severity=Severity.WARNING,
                        message=message("ISO114.underscore", input=each.name),
                        advice=message("ISO114.underscore_advice"),
                        tensor=each.name,
                    )


def _first(each: Node) -> str:
    return each.outputs[0] if each.outputs else ""
