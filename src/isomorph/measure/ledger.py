"""Build the ledger of a check: each input is opened, then judged or dropped, and closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.coverage import Coverage, Entry, InputKind, Ledger, entries
from isomorph.core.divergence import Divergence, DivergenceKind, Verdict
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.inputs.feeds import Sample

LACKING = message("DIVERGENT.no_such_output")


class Accounts:
    """Accounts for every output of the reference on every input."""

    def __init__(self) -> None:
        self._ledger = Ledger(())
        self._lacking: tuple[Divergence, ...] = ()
        self._open: InputKind | None = None

    @property
    def coverage(self) -> Coverage:
        """What has been compared so far."""
        return self._ledger.coverage

    def expect(
        self, outputs: Iterable[str], bound: Sequence[Binding], *, interface: bool = True
    ) -> tuple[Divergence, ...]:
        """Set the reference's outputs; return a divergence for each that the candidate lacks.

        Without an ``interface`` (recorded values), an output without counterpart is not compared.
        """
        names = tuple(dict.fromkeys(outputs))
        self._ledger = Ledger(names)
        taken = {pair.reference for pair in bound}
        lacking = tuple(_lacking(name) for name in names if name not in taken)
        self._lacking = lacking if interface else ()
        return self._lacking

    def open(self, sample: Sample) -> None:
        """Start an input that is about to be compared."""
        self._open = sample.kind

    def drop(self) -> None:
        """Leave the open input out: it cannot prove anything, which is reported elsewhere."""
        self._open = None

    def judged(self, divergences: Iterable[Divergence]) -> None:
        """Account for the open input."""
        if self._open is not None:
            self._ledger.account(self._open, self.entries(divergences), "it has no counterpart")
        self._open = None

    def close(self) -> None:
        """Account for an open input that was not judged as not compared."""
        if self._open is not None:
            self._ledger.account(self._open, self.entries(()), "the models could not be run on it")
        self._open = None

    def entries(self, divergences: Iterable[Divergence]) -> tuple[Entry, ...]:
        """Return the entries of one input, including the outputs that the candidate lacks."""
        return entries((*divergences, *self._lacking), self._ledger.outputs)

    def of_test_set(
        self,
        name: str,
        samples: int,
        judged: Mapping[str, Sequence[Divergence]],
        unjudged: Mapping[str, str],
    ) -> None:
        """Account for the samples of a test set: those judged, and others with the reason.

        Samples in neither are opened and judged one by one.
        """
        self._ledger.from_test_set(name, samples)
        for divergences in judged.values():
            found = self.entries(divergences)
            self._ledger.account(InputKind.TEST_SET, found, "it has no counterpart")
        for why in unjudged.values():
            self._ledger.account(InputKind.TEST_SET, self.entries(()), why)


def _lacking(name: str) -> Divergence:
    return Divergence(
        reference_output=name,
        candidate_output=None,
        dtype="",
        shape=(),
        verdict=Verdict.DIVERGENT,
        kind=DivergenceKind.MISSING,
        reason=LACKING,
    )
