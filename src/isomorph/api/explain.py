"""``isomorph explain``: what a cause or a code of a report means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.explanation import Explanation


def explain(word: str | None = None) -> tuple[Explanation, ...]:
    """What a cause or a code of a report means; every one of them without a word."""
    from isomorph.diagnose import explain as stage

    return stage.words() if word is None else (stage.explain(word),)
