"""Weights in other files: what may go wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.rule_examples import linted_model, node


class ExternalData:
    """The weights lie beside the model, and a converter that copies the file alone loses them.

    A file whose weights cannot be read is reported by this rule, too; the command goes on.
    """

    name = "external_data"
    code = "ISO117"
    positive_examples = (
        linted_model(node("Relu"), notes=("weights lie in other files: model.data",)),
        linted_model(node("Relu"), notes=("EXTERNAL_DATA_SHORT: the file 'w.bin' is missing",)),
    )
    negative_examples = (
        linted_model(node("Relu")),
        linted_model(node("Relu"), notes=("a note about a suffix",)),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each note of the loader about external data."""
        for note in linted.model.notes:
            broken = note.startswith("EXTERNAL_DATA")
            if broken or note.startswith("weights lie in other files"):
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR if broken else Severity.NOTE,
                    message=note,
                    advice="keep the files together, whole, in one folder",
                )
