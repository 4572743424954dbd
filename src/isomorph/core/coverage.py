"""What a verdict covers: every output of the reference, element by element, on every input.

A ``Ledger`` accounts for each of them once: compared and within its budget, compared and beyond
it, or not compared, with the reason. ``concluded`` is the only way from a ledger to a verdict, and
``EQUIVALENT`` and ``DEGRADED`` come out of a complete one only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from isomorph.core.constraints import Count
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.limits import MOST_REASONS
from isomorph.core.messages import message

ONLY_NONFINITE = "all of its values are NaN or infinite, on every input"
_INSIDE = ("[", ".keys", ".values")


class Outcome(StrEnum):
    """The result for one output, or one element of a sequence, on one input."""

    WITHIN = "within"
    NOT_COMPARED = "not compared"
    BEYOND = "beyond"


class InputKind(StrEnum):
    """Where an input came from."""

    GIVEN = "given"
    GENERATED = "generated"
    TEST_SET = "test set"
    DECODED = "decoding step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One output of the reference on one input; ``values`` counts the elements compared.

    ``finite`` counts those that are finite on both sides.
    """

    output: str
    outcome: Outcome
    reason: str = ""
    element: str = ""
    values: int = 0
    finite: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCoverage:
    """One output of the reference, or one element of it, over all inputs.

    The three counts add up to the inputs; ``reasons`` are why inputs were not compared.
    """

    output: str
    within: Count = 0
    beyond: Count = 0
    not_compared: Count = 0
    reasons: tuple[str, ...] = ()
    """Why inputs were not compared."""
    never_finite: bool = False
    """Whether all of its values are NaN or infinite on every input: nothing was compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The totals of a ledger.

    ``given``, ``generated``, ``from_set`` and ``decoded`` count the inputs on which every output
    was compared; ``in_set`` is how many samples the test set ``set_name`` has. ``values`` is the
    number of elements that were compared with each other.
    """

    given: Count = 0
    """Given inputs on which every output was compared."""
    generated: Count = 0
    """Generated inputs on which every output was compared."""
    from_set: Count = 0
    """Samples of the test set on which every output was compared."""
    decoded: Count = 0
    """Steps of decoding on which every output was compared."""
    in_set: Count = 0
    """Samples that the test set has."""
    set_name: str | None = None
    inputs: Count = 0
    """All inputs that were tried."""
    values: Count = 0
    """Elements that were compared."""
    outputs: tuple[OutputCoverage, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every output was compared on every input, and any value at all."""
        return (
            self.values > 0
            and bool(self.outputs)
            and not self.not_compared
            and self.from_set == self.in_set
        )

    @property
    def not_compared(self) -> int:
        """How many required comparisons were not made."""
        return sum(each.not_compared for each in self.outputs)

    @property
    def beyond(self) -> int:
        """How many comparisons found a divergence."""
        return sum(each.beyond for each in self.outputs)

    @property
    def words(self) -> str:
        """As in a headline: ``on 1 given and 2 generated inputs``."""
        parts = []
        if self.set_name is not None:
            parts.append(f"{self.from_set} of {self.in_set} samples of {self.set_name}")
        kinds = (self.given, "given"), (self.generated, "generated")
        counts = [f"{count} {kind}" for count, kind in kinds if count]
        if counts:
            one = self.given + self.generated == 1
            parts.append(f"{' and '.join(counts)} {'input' if one else 'inputs'}")
        if self.decoded:
            parts.append(f"{self.decoded} {'step' if self.decoded == 1 else 'steps'} of decoding")
        return f"on {' and '.join(parts)}" if parts else ""


@dataclass(slots=True, kw_only=True)
class _Account:
    within: int = 0
    beyond: int = 0
    not_compared: int = 0
    values: int = 0
    finite: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    @property
    def only_nonfinite(self) -> bool:
        """Whether all values that agree are NaN or infinite, on every input.

        Whatever two models compute, they agree so once both overflow.
        """
        return self.values > 0 and self.finite == 0 and self.within > 0

    def as_coverage(self, output: str) -> OutputCoverage:
        """The counts; where only NaN and infinities agree, nothing was compared."""
        reasons = tuple(self.reasons)
        within, not_compared = self.within, self.not_compared
        if self.only_nonfinite:
            within, not_compared = 0, not_compared + within
            reasons = (*reasons, ONLY_NONFINITE)
        return OutputCoverage(
            output=output,
            within=within,
            beyond=self.beyond,
            not_compared=not_compared,
            reasons=reasons[:MOST_REASONS],
            never_finite=self.only_nonfinite,
        )


class Ledger:
    """Accounts for every output of the reference on every input, exactly once."""

    def __init__(self, outputs: Iterable[str]) -> None:
        self.outputs = tuple(dict.fromkeys(outputs))
        self._accounts: dict[str, _Account] = {}
        self._complete = dict.fromkeys(InputKind, 0)
        self._inputs = self._values = self._in_set = 0
        self._set_name: str | None = None

    def from_test_set(self, name: str, samples: int) -> None:
        """Record how many samples a test set has; all of them must be compared."""
        self._set_name, self._in_set = name, samples

    def account(
        self, kind: InputKind, entries: Iterable[Entry], otherwise: str = "nothing compared it"
    ) -> None:
        """Take over one input; for an output without an entry, the reason is ``otherwise``."""
        found: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            key = entry.output, entry.element
            if key in found:
                raise ValueError(f"output {entry.output}{entry.element} is accounted for twice")
            found[key] = entry
        named = {output for output, _ in found}
        for name in self.outputs:
            if name not in named:
                missing = Entry(output=name, outcome=Outcome.NOT_COMPARED, reason=otherwise)
                found[name, ""] = missing
        for entry in found.values():
            self._add(entry)
        self._inputs += 1
        self._values += sum(entry.values for entry in found.values())
        if all(entry.outcome is not Outcome.NOT_COMPARED for entry in found.values()):
            self._complete[kind] += 1

    @property
    def coverage(self) -> Coverage:
        """The sum so far."""
        empty = any(each.only_nonfinite for each in self._accounts.values())
        complete = dict.fromkeys(InputKind, 0) if empty else self._complete
        return Coverage(
            given=complete[InputKind.GIVEN],
            generated=complete[InputKind.GENERATED],
            from_set=complete[InputKind.TEST_SET],
            decoded=complete[InputKind.DECODED],
            in_set=self._in_set,
            set_name=self._set_name,
            inputs=self._inputs,
            values=self._values,
            outputs=tuple(each.as_coverage(name) for name, each in self._accounts.items()),
        )

    def _add(self, entry: Entry) -> None:
        account = self._accounts.setdefault(f"{entry.output}{entry.element}", _Account())
        account.values += entry.values
        account.finite += entry.finite
        if entry.outcome is Outcome.WITHIN:
            account.within += 1
        elif entry.outcome is Outcome.BEYOND:
            account.beyond += 1
        else:
            account.not_compared += 1
            account.reasons[entry.reason] = None


def entries(divergences: Iterable[Divergence], outputs: Sequence[str]) -> tuple[Entry, ...]:
    """What was judged of one input, by output of the reference and element of a sequence."""
    made = []
    for each in divergences:
        output, element = _split(each.reference_output or "", outputs)
        if each.verdict is Verdict.DIVERGENT:
            outcome = Outcome.BEYOND
        elif each.verdict is Verdict.UNKNOWN:
            outcome = Outcome.NOT_COMPARED
        else:
            outcome = Outcome.WITHIN
        made.append(
            Entry(
                output=output,
                element=element,
                outcome=outcome,
                reason=each.reason,
                values=each.elements,
                finite=each.finite,
            )
        )
    # A model may give one tensor as two outputs: the graver of its comparisons counts.
    made.sort(key=lambda entry: list(Outcome).index(entry.outcome))
    return tuple({(entry.output, entry.element): entry for entry in made}.values())


def _split(name: str, outputs: Sequence[str]) -> tuple[str, str]:
    """An output, and the path of an element inside it."""
    if name in outputs:
        return name, ""
    for output in sorted(outputs, key=len, reverse=True):
        if name.startswith(output) and name.removeprefix(output).startswith(_INSIDE):
            return output, name.removeprefix(output)
    return name, ""


def concluded(verdict: Verdict, reason: str, coverage: Coverage) -> tuple[Verdict, str]:
    """The verdict that follows from the ledger; what was not compared is never equivalent."""
    if verdict not in {Verdict.EQUIVALENT, Verdict.DEGRADED}:
        return verdict, reason
    wrong = [each for each in coverage.outputs if each.beyond]
    if wrong:
        return Verdict.DIVERGENT, message("DIVERGENT.beyond_budget", output=wrong[0].output)
    if coverage.complete:
        return verdict, reason
    missing = [each for each in coverage.outputs if each.not_compared]
    if missing:
        why = missing[0].reasons[0] if missing[0].reasons else "no reason is known"
        return Verdict.UNKNOWN, message("UNKNOWN.not_compared", output=missing[0].output, why=why)
    if coverage.from_set != coverage.in_set:
        parts = f"{coverage.from_set} of {coverage.in_set} samples of {coverage.set_name}"
        return Verdict.UNKNOWN, message("UNKNOWN.part_of_set", parts=parts)
    return Verdict.UNKNOWN, message("UNKNOWN.no_values")
