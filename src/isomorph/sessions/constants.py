"""Read single constants of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array


def read_constant(session: Callable[[], Session], name: str) -> Array | None:
    """The stored value; None where the session cannot be opened or does not return it."""
    try:
        return np.asarray(session().run({}, [name])[name])
    except IsomorphError:
        return None
