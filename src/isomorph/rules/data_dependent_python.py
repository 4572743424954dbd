"""Python that decides on values: tracing sees one branch and forgets the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import LoadFact, Source
from isomorph.core.rule_examples import linted_model, node

_PLACE = re.compile(r"\(at (?P<file>[^():]+):(?P<line>\d+)\)")
_DETAILS = "(GuardOnDataDependentSymNode: Could not guard (at model.py:12)); it runs"


class DataDependentPython:
    """A Python ``if``, ``while`` or ``int()`` on the values of a tensor.

    ``torch.export`` refuses it, and names the line. The older ONNX exporter and ``torch.jit.trace``
    do not: they follow the branch that the example takes, and the file is wrong for the other.
    """

    name = "data_dependent_python"
    code = "ISO107"
    positive_examples = (
        linted_model(
            node("Relu"),
            framework="pytorch",
            runs_python=True,
            load_facts={LoadFact.EXPORT_REFUSED: _DETAILS},
        ),
    )
    negative_examples = (
        linted_model(node("Relu"), framework="pytorch", runs_python=False),
        linted_model(node("If"), framework="onnx"),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark, with the diagnosis of ``torch.export``."""
        details = linted.model.load_facts.get(LoadFact.EXPORT_REFUSED)
        if details is not None:
            place = _PLACE.search(details)
            source = None if place is None else Source(file=place["file"], line=int(place["line"]))
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.ERROR,
                message=message("ISO107.python", details=details),
                advice=message("ISO107.python_advice"),
                source=source,
            )
