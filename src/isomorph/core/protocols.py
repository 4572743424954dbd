"""The protocols of extensions: structural types, no base classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.conversion import Order, Workaround
    from isomorph.core.execution import Switch
    from isomorph.core.fault_context import Diagnosis, FaultContext, FaultSite
    from isomorph.core.lint import LintedModel, Remark
    from isomorph.core.model import Model
    from isomorph.core.operator_tables import OperatorTables
    from isomorph.core.patch import Patch
    from isomorph.core.report import Finding, Report
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import (
        Array,
        Arrays,
        Capabilities,
        Environment,
        Noise,
        RunRequest,
        Use,
    )


class Framework(Protocol):
    """Reads, describes and writes the models of one framework."""

    name: str
    extra: str | None
    """The extra that installs it, or None when the base install has it."""
    runtime: str
    """The runtime used unless the user names another."""
    oracle: str
    """The runtime that evaluates its models in float64."""
    keeps_metadata: bool
    """Whether its files hold metadata and doc strings, so that a conversion can lose them."""
    operator_tables: OperatorTables
    """What is particular to its operators; ``NO_TABLES`` where all are described as ONNX does."""

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


@runtime_checkable
class SupportsPatch(Protocol):
    """The ability of a framework to apply patches to its models."""

    keeps_float: bool
    """Whether it applies ``KeepFloat`` edits."""

    frees_axes: bool
    """Whether it applies ``FreeAxis`` edits."""

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy; never onto the file it came from."""
        ...

    def apply_in_memory(self, model: Model, patch: Patch) -> Model:
        """The patched model in memory, for its oracle to compute a few tensors."""
        ...


@runtime_checkable
class SupportsExtract(Protocol):
    """The ability of a framework to write parts of its models as models."""

    suffix: str
    """How the file of a part is named."""

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write the part; ``feeds`` are examples of its inputs. Never over an existing model."""
        ...


@runtime_checkable
class HasSidecarFiles(Protocol):
    """The ability of a framework to keep parts of a model in other files."""

    def sidecar_files(self, path: Path) -> tuple[Path, ...]:
        """The files beside ``path`` that belong to the model."""
        ...


@runtime_checkable
class HasMeanings(Protocol):
    """The ability of a framework to say what its operators mean, for proofs."""

    def meanings(self) -> Any:  # noqa: ANN401
        """The operators that have a meaning: ``Meanings`` of ``isomorph.proof.calls``."""
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


@runtime_checkable
class StreamsTensors(Protocol):
    """The ability of a session to pass on each tensor as soon as it is computed."""

    def hand_over(
        self, feeds: Arrays, fetch: Sequence[str], use: Use, *, noise: Noise | None = None
    ) -> None:
        """Call ``use`` with the name and value of each tensor of ``fetch``."""
        ...


@runtime_checkable
class RunsMany(Protocol):
    """The ability of a session to carry out many runs for the price of one message."""

    def run_many(self, requests: Sequence[RunRequest]) -> list[Arrays]:
        """Return the results in the order of the requests; the first failure is raised."""
        ...


@runtime_checkable
class Differentiates(Protocol):
    """The ability of an oracle to differentiate its outputs by its inputs, in float64."""

    def gradients(
        self, feeds: Mapping[str, Array], weights: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Return the gradient of a weighted sum of tensors by each input of real numbers.

        ``weights`` are by the names of the tensors, which need not be outputs. Sessions in workers
        have the method, and ``Capabilities.gradients`` states whether it works.
        """
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


@runtime_checkable
class EnvironmentReader(Protocol):
    """The ability of a runtime to take settings that its package reads when it is imported."""

    def variables(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The environment variables of its process under these settings; few, mostly none.

        Sessions that need other variables run in another worker process.
        """
        ...


@runtime_checkable
class HasSwitches(Protocol):
    """The ability of a runtime to switch optimizers, kernels or precision off by settings."""

    switches: tuple[Switch, ...]
    """From the outermost group to the innermost."""


@runtime_checkable
class SetsPrecision(Protocol):
    """The ability of a runtime to compute in a narrower float type than a model declares."""

    def requested_dtype(self, settings: Mapping[str, str]) -> str:
        """The type that these settings ask for; empty where they leave it to model or runtime."""
        ...


@runtime_checkable
class ListsOptimizers(Protocol):
    """The ability of a runtime to switch single optimizers off."""

    def optimizer_switches(self, facts: Mapping[str, str]) -> tuple[Switch, ...]:
        """One switch for each optimizer that ran, by the facts of a session's environment."""
        ...


@runtime_checkable
class WritesSettingsCode(Protocol):
    """The ability of a runtime to show how its settings are applied in a program."""

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that open a session under these settings."""
        ...


class Reporter(Protocol):
    """Renders exactly the report; computes nothing."""

    name: str
    profile: bool | None
    """Whether a check for it records the error node by node; None: where that costs little."""
    follows: bool
    """Whether several reports may be written one after the other."""

    def render(self, report: Report) -> str:
        """The whole text."""
        ...


@runtime_checkable
class StyledReporter(Protocol):
    """The ability of a reporter to render for a terminal with colors."""

    def render_styled(self, report: Report) -> str:
        """The whole text with escape codes."""
        ...


@runtime_checkable
class FilesReporter(Protocol):
    """The ability of a reporter to render a report as several files."""

    def render_files(self, report: Report) -> Mapping[str, str]:
        """The text of each file, by the word that is put into its name."""
        ...


@runtime_checkable
class RepairReporter(Protocol):
    """The ability of a reporter to render a report together with its repair."""

    def render_repair(self, report: Report, repair: Mapping[str, Any]) -> str:
        """The whole text."""
        ...


@runtime_checkable
class EnvironmentReporter(Protocol):
    """The ability of a reporter to append to files that environment variables name."""

    environment_files: Mapping[str, str]
    """The reporter that renders each file, by variable."""


class Cause(Protocol):
    """Knows one reason for a divergence; its docstring is the page that explains it."""

    name: str
    sites: frozenset[FaultSite]
    """Where faults of this cause may lie."""

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
    workarounds: tuple[Workaround, ...]
    """What is known to help when it fails, in the order to try."""
    loses: tuple[str, ...]
    """What none of its results can keep."""

    def convert(self, order: Order) -> Sequence[str]:
        """Write ``order.target``; what a user should know about how it was done."""
        ...


@runtime_checkable
class ProvenByRuntime(Protocol):
    """The ability of a converter to state in which runtime its result is judged, and how set.

    Where no registered framework reads the result, it ensures that the result gives the same bits
    there as its source; so the source, run there, is compared with the first model.
    """

    proven_as: tuple[str, Mapping[str, str]]
    """A runtime and its settings."""


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


@runtime_checkable
class ReportsCapabilities(Protocol):
    """The ability of a converter or runtime to list the operators and types that it supports."""

    def abilities(self) -> Mapping[str, Any]:
        """Read from the installed package, as plain data.

        ``operators`` that it takes, ``types`` that it computes with, ``kernels`` with the types
        of each operator, ``opsets`` as (oldest, newest); unknown ones are left out.
        """
        ...


def members(protocol: type) -> frozenset[str]:
    """The names that an object of this protocol has."""
    methods = {name for name, value in vars(protocol).items() if callable(value)}
    names = {*methods, *vars(protocol).get("__annotations__", ())}
    return frozenset(name for name in names if not name.startswith("_"))
