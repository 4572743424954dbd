"""What a tool answers about a pair, as the last line that its program prints."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

# Two lines that a reader of the table can look at; the whole output is the tool's own.
_MARK = "ANSWER "


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``wrong`` is None where a tool gives figures and leaves the judgment to its user.

    ``first`` is what the tool names first: the node or tensor at the head of its list. ``compared``
    is how many tensors it looked at.
    """

    wrong: bool | None
    first: str = ""
    compared: int = 0
    says: str = ""
    cause: str = ""
    repair: str = ""
    skipped: str = ""

    def tell(self) -> None:
        """Print it for the program that measures."""
        sys.stdout.write("\n" + _MARK + json.dumps(asdict(self)) + "\n")


def answer_in(text: str) -> Answer | None:
    """The answer in what a program printed; None if it ended without one."""
    lines = [line for line in text.splitlines() if line.startswith(_MARK)]
    return Answer(**json.loads(lines[-1].removeprefix(_MARK))) if lines else None


def folder_of_pair() -> Path:
    """The one argument of each of these programs."""
    return Path(sys.argv[1])
