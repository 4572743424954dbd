"""The catalog of messages: every sentence about a model, by its key, with the facts it states.

A key is a code (of ``isomorph explain``), a verdict, a cause or a family (``PATCH``, ``FIX``), then
the variant: ``GUILTY_NODE.differs``. Modules that find something out hand over facts; the words
stand here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.messages.answers import ANSWERS
from isomorph.core.messages.causes import CAUSES
from isomorph.core.messages.error_locations import ERROR_LOCATIONS
from isomorph.core.messages.errors import ERRORS
from isomorph.core.messages.experiments import EXPERIMENTS
from isomorph.core.messages.findings import FINDINGS
from isomorph.core.messages.fixes import FIXES
from isomorph.core.messages.inputs import INPUTS
from isomorph.core.messages.outcomes import OUTCOMES
from isomorph.core.messages.patches import PATCHES
from isomorph.core.messages.readmes import READMES
from isomorph.core.messages.reports import REPORTS
from isomorph.core.messages.rules import RULES
from isomorph.core.messages.skipped import SKIPPED
from isomorph.core.messages.verdicts import VERDICTS

CATALOG: Mapping[str, str] = {
    **VERDICTS,
    **FINDINGS,
    **CAUSES,
    **EXPERIMENTS,
    **PATCHES,
    **FIXES,
    **SKIPPED,
    **OUTCOMES,
    **ANSWERS,
    **RULES,
    **ERRORS,
    **REPORTS,
    **INPUTS,
    **ERROR_LOCATIONS,
    **READMES,
}
"""The template of each message, by its key."""


def message(key: str, /, **facts: object) -> str:
    """The sentence of this key with its facts; a KeyError where a fact is missing."""
    return CATALOG[key].format_map(facts)
