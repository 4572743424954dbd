"""The protocols of extensions: structural types, no base classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.conversion import Cure, Order
    from isomorph.core.fault_context import Diagnosis, FaultContext
    from isomorph.core.lint import LintedModel, Remark
    from isomorph.core.model import Model
    from isomorph.core.patch import Patch
    from isomorph.core.report import Finding, Report
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays, Capabilities, Environment, Noise


class Framework(Protocol):
    """Reads, describes and writes the models of one framework."""

    name: str
    extra: str | None
    """The extra that installs it, or None when the base install has it."""
    runtime: str
    """The runtime used unless the user names another."""
    oracle: str
    """The runtime that evaluates its models in float64."""

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is this framework's, by content; imports nothing heavy."""
        ...

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """Whether a live object is this framework's; imports nothing heavy."""
        ...

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """Write a live object to a file in ``folder`` for a worker to load.

        ``example`` are arrays by input name (or by place: "0", "1", …), for those frameworks
        that trace. Raises an IsomorphError where the object cannot be written.
        """
        ...

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """A path, a ``module:factory`` word or a live object, read and described."""
        ...

    def save(self, model: Model, path: Path) -> None:
        """Write a copy; never onto the file it came from."""
        ...


class SupportsPatch(Protocol):
    """What a framework has besides if its models can be repaired."""

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; never onto the file it came from."""
        ...

    def sketch(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for its oracle to compute a few tensors."""
        ...


class SupportsExtract(Protocol):
    """What a framework has besides if parts of its models can be models of their own."""

    suffix: str
    """How the file of a part is named."""

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write the part; ``feeds`` are examples of its inputs. Never over an existing model."""
        ...


class Session(Protocol):
    """One loaded model in one runtime with one environment."""

    capabilities: Capabilities
    environment: Environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor.

        Whatever is fed cuts the graph there: nothing above it is needed or computed.
        Constants may be fetched and fed too. ``feeds`` are not modified.
        """
        ...

    def close(self) -> None:
        """Let go of what the session holds."""
        ...


class Runtime(Protocol):
    """Runs the models of one or more frameworks."""

    name: str
    extra: str | None
    worker: str
    """Runtimes with the same word may share one worker process."""
    settings: Mapping[str, str]
    """The keys of ``--set`` it understands, each with its default value."""
    plain: Mapping[str, str]
    """The settings under which it runs the graph as written, without any optimizer."""

    def accepts(self, model: Model) -> bool:
        """Whether it can run models of this framework."""
        ...

    def open(self, model: Model, environment: Environment) -> Session:
        """Load once; refuses an unsupported operator by its name."""
        ...


class EnvironmentReader(Protocol):
    """What a runtime has besides if some of its settings are read when its package is imported."""

    def variables(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The environment variables of its process under these settings; few, mostly none.

        Sessions that need other variables run in another worker process.
        """
        ...


class Reporter(Protocol):
    """Renders exactly the report; computes nothing."""

    name: str

    def render(self, report: Report) -> str:
        """The whole text."""
        ...


class Cause(Protocol):
    """Knows one reason for a divergence; its docstring is the page that explains it."""

    name: str

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """The diagnoses of this cause; none where it does not apply."""
        ...


class Fix(Protocol):
    """Knows patches that remove one cause; it proposes and does nothing itself."""

    name: str
    """The cause that it removes."""

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """Patches for this fault, the likeliest and cheapest first."""
        ...


class Converter(Protocol):
    """Takes a model of one framework to another, or to a narrower type.

    It runs in a worker process of its own, in an empty folder, without a network. Whatever it
    raises, prints or spoils is caught there; whatever it writes is loaded and checked.
    """

    name: str
    source: str
    """The framework of what it reads."""
    target: str
    """The framework of what it writes; its own source where it only rewrites."""
    widths: frozenset[str]
    """What it can do, of ``core.conversion.WIDTHS``; ``AS_IS`` among them if it narrows nothing."""
    packages: tuple[str, ...]
    """What it imports."""
    install: str
    """The line that installs them."""
    worker: str
    """Converters with the same word may share one worker process."""
    rank: int
    """Where several lead to the same place, the lowest is tried first."""
    named: bool
    """Whether it is used only where the user names it with ``--via``."""
    suffix: str
    """Of what it writes; empty for a folder."""
    cures: tuple[Cure, ...]
    """What is known to help when it fails, in the order to try."""
    loses: tuple[str, ...]
    """What none of its results can keep."""

    def convert(self, order: Order) -> Sequence[str]:
        """Write ``order.target``; what a user should know about how it was done."""
        ...


class ProvenByRuntime(Protocol):
    """What a converter has besides if no framework of ours reads what it writes.

    It has seen to it that its result gives the same bits as its source in that runtime; so the
    source, run there, is what is compared with the first model.
    """

    proven_as: tuple[str, Mapping[str, str]]


class Rule(Protocol):
    """Finds one kind of problem without running the model; its docstring is its page.

    ``positive_examples`` are the smallest models with a remark, ``negative_examples`` similar ones
    without.
    """

    name: str
    code: str
    """Stable: what a user writes into a list of exceptions."""
    positive_examples: tuple[LintedModel, ...]
    negative_examples: tuple[LintedModel, ...]

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each problem."""
        ...


class ReportsCapabilities(Protocol):
    """A converter or runtime that reports what it is able to do."""

    def abilities(self) -> Mapping[str, Any]:
        """Read from the installed package, as plain data.

        ``operators`` that it takes, ``types`` that it computes with, ``kernels`` with the types
        of each operator, ``opsets`` as (oldest, newest); what it does not know is left out.
        """
        ...
