"""What a check was asked: its files and its options, so that another verb can repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from isomorph.core.constraints import Count


class FileRole(StrEnum):
    """What a file was given for."""

    INPUTS = "inputs"
    DATA = "data"
    """A test set."""
    STATE = "state"
    """Weights for a model that a factory builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedFile:
    """A file beside the models, as it was named."""

    role: FileRole
    location: str
    digest: str
    """Of its content; empty for a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The files and options of a check; whether code may run is not among them."""

    directory: str = ""
    """The working directory: relative locations of files and models start there."""
    files: tuple[RequestedFile, ...] = ()
    runtime: Mapping[str, str] = field(default_factory=dict)
    """The stated runtime by side; under the empty name, for each side that accepts it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the runtime; ``candidate.key`` is for one side."""
    ops: tuple[str, ...] = ()
    """Modules that define custom operators."""
    memory: Count | None = None
    """The most memory of a worker, in bytes."""
    timeout: float | None = None
    """The most seconds of a worker for loading, opening or running a model."""
    dims: Mapping[str, Count] = field(default_factory=dict)
    """Sizes of dynamic axes."""
    budgets: Mapping[str, float] = field(default_factory=dict)
    """Stated budgets by output; under the empty name, of every other output."""
    bind_inputs: Mapping[str, str] = field(default_factory=dict)
    bind_outputs: Mapping[str, str] = field(default_factory=dict)
    layouts: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)
    """The reference's axes in the order that an input or output of the candidate has."""
    decode: Count | None = None
    """How many tokens were decoded; null where nothing was."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """Stated caches of a decoder: the output for an input."""

    def file(self, role: FileRole) -> RequestedFile | None:
        """The file that was given for this; None where there was none."""
        return next((each for each in self.files if each.role is role), None)
