"""A statement about one place in a model: where, why, and what was observed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The parts of a sentence; its text puts the cause first."""

    place: str
    """The node, and where it differs in name its counterpart."""
    observed: str
    """What was measured there."""
    cause: str = ""
    """What is wrong with it; empty where that is not known."""
    remark: str = ""
    """What holds beyond this place."""

    @property
    def text(self) -> str:
        """``Conv 'stem': pads is (0, 0), not (1, 1). Its inputs match; its output differs …``."""
        first, *rest = filter(None, (self.cause, self.observed, self.remark))
        return ". ".join([f"{self.place}: {first}", *(_capitalized(each) for each in rest)])


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
