"""Import of heavy packages on first use, with the command that installs missing ones."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from isomorph.core.errors import MissingDependencyError


def require(package: str, *, extra: str, needed_for: str) -> Any:  # noqa: ANN401
    """Import ``package`` now, or raise the error that states how to install it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        # A package that is present but broken must not be reported as absent.
        if error.name is None or error.name.partition(".")[0] != package.partition(".")[0]:
            raise
        raise MissingDependencyError(package, extra=extra, needed_for=needed_for) from error
