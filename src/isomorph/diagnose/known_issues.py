"""Public reports of the same fault, kept as data and cited where a finding matches one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.fault_context import Diagnosis, FaultContext

_MOST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssue:
    """One public thread: where, about which operators and frameworks, and what was behind it.

    ``about`` narrows it further: the diagnosis must be about one of these names.
    """

    thread: str
    cause: str
    ops: tuple[str, ...]
    frameworks: tuple[str, ...]
    mechanism: str
    about: frozenset[str] = frozenset()

    @property
    def link(self) -> str:
        """Its address; a pull request is reached under the same one."""
        repository, _, number = self.thread.partition("#")
        return f"https://github.com/{repository}/issues/{number}"

    @property
    def sentence(self) -> str:
        """As it is cited."""
        return f"{self.thread}: {self.mechanism} ({self.link})"


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """Every public report that is kept."""
    text = files("isomorph.diagnose").joinpath("known_issues.json").read_text("utf-8")
    return tuple(
        KnownIssue(
            thread=each["thread"],
            cause=each["cause"],
            ops=tuple(each["ops"]),
            frameworks=tuple(each["frameworks"]),
            mechanism=each["mechanism"],
            about=_folded(each.get("about", ())),
        )
        for each in json.loads(text)
    )


def matching_issues(
    diagnosis: Diagnosis, context: FaultContext, frameworks: Sequence[str]
) -> list[str]:
    """Public reports with this cause, an operator of the faulty nodes and the same conversion.

    A report about two frameworks matches only conversions between these two.
    """
    ops = {node.op for node in (*context.nodes, *context.counterparts)}
    # An optimizer works anywhere in the graph: then its name is what narrows the reports.
    fused = diagnosis.cause == "fusion"
    anywhere = {node.op for node in context.candidate.nodes} if fused else ops
    about = _folded(diagnosis.about)
    pair = set(frameworks)
    found = [
        (len(set(each.frameworks) & pair), each)
        for each in known_issues()
        if each.cause == diagnosis.cause
        and (anywhere if each.about else ops) & set(each.ops)
        and len(set(each.frameworks) & pair) >= min(len(each.frameworks), len(pair))
        and (not each.about or each.about & about)
    ]
    found.sort(key=lambda pair: (not pair[1].about, -pair[0]))
    return [each.sentence for _, each in found[:_MOST]]


def _folded(names: Iterable[str]) -> frozenset[str]:
    """The names without regard to case: frameworks write one operator differently."""
    return frozenset(name.casefold() for name in names)
