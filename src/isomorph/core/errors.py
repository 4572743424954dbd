"""Every error a user may meet: a code, a sentence made in one place, an exit code.

The shape is always the same: what happened and where, why, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.escaping import printable

BUG = 70
"""The exit code of a defect of isomorph itself."""

FATAL = frozenset({"TIMEOUT", "OUT_OF_MEMORY", "RUNTIME_CRASHED"})
"""Codes of failures that cost a runtime its life: the same inputs again would do the same."""


def message_lines(error: object) -> list[str]:
    """The lines of the message of another package's exception, without empty ones."""
    return [line.strip() for line in str(error).splitlines() if line.strip()]


def listed(names: Sequence[str], limit: int = 5) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


class IsomorphError(Exception):
    """An error of the user's files, machine or arguments, not of isomorph itself.

    ``node`` is the node it is about, or that was begun last, where that is known. ``phrase`` is
    ``what`` with the colon that it was given, for an error that is made of another.
    """

    exit_code = 2

    def __init__(
        self,
        code: str,
        what: str,
        *,
        file: str | None = None,
        where: str | None = None,
        why: str | None = None,
        fix: str | None = None,
        node: str | None = None,
    ) -> None:
        self.code, self.what, self.file, self.where = code, what.removesuffix(":"), file, where
        # "unknown key 'y' in x", but "there is no such file: x": a colon behind ``what`` means that
        # it is about the file as a whole.
        self._joint = ": " if what.endswith(":") else " in "
        self.phrase = what
        self.why, self.fix, self.node = why, fix, node
        super().__init__(self.sentence)
        # A traceback shows these below the sentence, as a terminal does.
        for line in self.lines[1:]:
            self.add_note(line.strip())

    @property
    def sentence(self) -> str:
        """The first line, without its ``error[CODE]`` mark."""
        place = f"{self._joint}{printable(self.file)}" if self.file else ""
        spot = f": {printable(self.where)}" if self.where else ""
        return f"{printable(self.what)}{place}{spot}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The whole message, as it is shown in a terminal."""
        lines = [f"error[{self.code}] {self.sentence}"]
        if self.why:
            lines.append(f"  why: {printable(self.why)}")
        if self.fix:
            lines.append(f"  fix: {printable(self.fix)}")
        return tuple(lines)


class UsageError(IsomorphError):
    """The arguments of the command line or of the API are invalid."""


class UnreadableModelError(IsomorphError):
    """The file is not a model that can be used, whatever runtime is asked."""


class RefusedError(IsomorphError):
    """Opening the file would run code or leave its folder, and the user did not allow that."""

    exit_code = 4


class RuntimeFailedError(IsomorphError):
    """A runtime crashed, hung, ran out of memory or refused: the answer is unknown."""

    exit_code = 3


class MissingDependencyError(IsomorphError):
    """Something was asked for whose package is not installed."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        self.package, self.extra, self.needed_for = package, extra, needed_for
        super().__init__(
            "MISSING_EXTRA",
            f"{needed_for} needs {package!r}, which is not installed",
            fix=f"pip install 'isomorph[{extra}]'",
        )
