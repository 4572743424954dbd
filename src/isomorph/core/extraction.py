"""The smallest pair of models that still shows a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from isomorph.core.model import Model, Quantization
    from isomorph.core.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSource:
    """How a program without isomorph runs a model that has one output, or one output of several.

    ``body`` is that of a function of ``path``, ``feeds`` (arrays by name, in the order of the
    model's inputs) and ``output`` (the name of its output); it returns an array. ``imports`` are
    whole lines; ``packages`` have the version of each package in ``__version__``. ``variables``
    must stand in the environment before the imports. ``names_output`` states that ``output`` may
    be any of several.
    """

    imports: tuple[str, ...]
    packages: tuple[str, ...]
    body: tuple[str, ...]
    variables: Mapping[str, str]
    names_output: bool = False


@runtime_checkable
class WritesScript(Protocol):
    """The ability of a runtime to be used from a script that needs no isomorph."""

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs the model under these settings; None where it would need more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFeed:
    """An input of a part: the array that it gets, with its axes in ``order`` and in ``shape``."""

    name: str
    key: str
    order: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    grid: Quantization | None = None
    """Where real numbers are put onto the grid that the file declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSide:
    """One part as a script runs it."""

    file: str
    source: ScriptSource
    feeds: tuple[ScriptFeed, ...]
    output: str
    grid: Quantization | None = None
    """That of its output, which is returned as real numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFacts:
    """What a script needs that shows the difference of two parts, or of one from right values.

    ``reference`` is None where the right values lie in a file: ``expected``. The reference's axes
    are put into the candidate's ``order`` and ``shape``. ``explained`` is the largest difference
    that is no fault.
    """

    node: str
    candidate: ScriptSide
    reference: ScriptSide | None = None
    expected: str | None = None
    order: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    explained: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was cut out around a node, and the report of its check.

    ``reference`` is None where the run is wrong and the graph is right: then the part is compared
    against its own oracle. ``command`` shows the difference, from inside ``folder``. ``whole``
    states that the part begins at the model's inputs, because no smaller one shows the fault.
    """

    node: str
    candidate: str
    inputs: str
    command: str
    report: Report
    reference: str | None = None
    whole: bool = False
    folder: str = ""
    nodes: int = 0
    nodes_before: int = 0
    script: str | None = None
    """The file that shows the difference without isomorph; it has been run."""
    no_script: str = ""
    """Why there is none."""

    @property
    def shows(self) -> bool:
        """Whether the part alone is still divergent."""
        return self.report.verdict.value == "divergent"

    @property
    def exit_code(self) -> int:
        """0 where the part shows the fault, 1 where it does not."""
        return 0 if self.shows else 1
