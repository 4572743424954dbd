"""Weights in other files: what may go wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.rule_examples import node, subject


class ExternalData:
    """The weights lie beside the model, and a converter that copies the file alone loses them.

    A file that cannot be read for its weights is told as this too, instead of ending the command.
    """

    name = "external_data"
    code = "ISO117"
    speaks = (
        subject(node("Relu"), notes=("weights lie in other files: model.data",)),
        subject(node("Relu"), notes=("EXTERNAL_DATA_SHORT: the file 'w.bin' is missing",)),
    )
    silent = (subject(node("Relu")), subject(node("Relu"), notes=("a note about a suffix",)))

    def check(self, subject: LintedModel) -> Iterator[Remark]:
        """One remark for each note that tells of it."""
        for note in subject.model.notes:
            broken = note.startswith("EXTERNAL_DATA")
            if broken or note.startswith("weights lie in other files"):
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR if broken else Severity.NOTE,
                    message=note,
                    advice="keep the files together, whole, in one folder",
                )
