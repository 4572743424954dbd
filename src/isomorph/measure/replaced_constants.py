"""An oracle in which some constants hold other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.protocols import RunsMany

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise, RunRequest


class ReplacedConstants:
    """An oracle in which some constants are replaced."""

    def __init__(self, session: Session, constants: Arrays) -> None:
        self.session, self._constants = session, constants
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """As the session itself."""
        return self.session.run({**self._constants, **feeds}, fetch, noise=noise)

    def run_many(self, requests: Sequence[RunRequest]) -> list[Arrays]:
        """As the session itself, with one message if it can."""
        # Feeds that several runs share stay one object.
        given = {id(each.feeds): {**self._constants, **each.feeds} for each in requests}
        if not isinstance(self.session, RunsMany):
            return [self.session.run(given[id(e.feeds)], e.fetch, noise=e.noise) for e in requests]
        return self.session.run_many(
            [replace(each, feeds=given[id(each.feeds)]) for each in requests]
        )

    def stored(self, name: str) -> Array:
        """A constant as it is stored, whatever replaces it."""
        return np.asarray(self.session.run({}, [name])[name])

    def close(self) -> None:
        """Let go of what the session holds."""
        self.session.close()
