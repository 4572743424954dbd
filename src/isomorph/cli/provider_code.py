"""The exit code of a run in another execution provider than the one asked for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.execution import provider_fallback
from isomorph.core.messages import message

if TYPE_CHECKING:
    from collections.abc import Mapping


def provider_code(facts: Mapping[str, str]) -> int:
    """3 where the model did not run in a provider that was asked for, with a warning; else 0."""
    fallback = provider_fallback(facts)
    if fallback is None:
        return 0
    text = message("TRACE.fallback", asked=", ".join(fallback.asked), used=", ".join(fallback.used))
    sys.stderr.write(f"{text}\n")
    return 0 if fallback.accepted else RuntimeFailedError.exit_code
