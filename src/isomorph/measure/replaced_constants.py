"""An oracle in which some constants hold other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise


class ReplacedConstants:
    """An oracle in which some constants are replaced."""

    def __init__(self, session: Session, constants: Arrays) -> None:
        self.session, self._constants = session, constants
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """As the session itself."""
        return self.session.run({**self._constants, **feeds}, fetch, noise=noise)

    def stored(self, name: str) -> Array:
        """A constant as it is stored, whatever replaces it."""
        return np.asarray(self.session.run({}, [name])[name])

    def close(self) -> None:
        """Let go of what the session holds."""
        self.session.close()
