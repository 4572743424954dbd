"""The report on one screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from isomorph.core.coverage import InputKind
from isomorph.core.errors import BUG
from isomorph.core.escaping import counted, printable
from isomorph.core.report import BoundBy
from isomorph.reporters._dataset_summary import over_samples
from isomorph.reporters._decoding import decoding_lines
from isomorph.reporters._figures import VERDICT_STYLE
from isomorph.reporters._findings import MARGIN, findings, labeled
from isomorph.reporters._outputs import outputs
from isomorph.reporters._proof import proof_lines
from isomorph.reporters._quantized_tensors import quantized

if TYPE_CHECKING:
    from isomorph.core.cost import Cost
    from isomorph.core.report import Binding, Finding, ModelSummary, Report, Skipped
    from isomorph.core.trace import Environment

NARROWEST, USUAL = 40, 100
MOST_NOTES = 6
_GENERATED = "generated: "
_MOST_PHASES = 3


class TerminalReporter:
    """One screen: the verdict, what it rests on, and what to do."""

    name = "terminal"
    profile = False
    follows = True

    def render(self, report: Report) -> str:
        """Plain text, as wide as the terminal."""
        return _drawn(report, color=False)

    def render_styled(self, report: Report) -> str:
        """The same text in color; not knowing is never green."""
        return _drawn(report, color=True)


def _drawn(report: Report, *, color: bool) -> str:
    width = max(NARROWEST, shutil.get_terminal_size((USUAL, 24)).columns)
    page = StringIO()
    console = Console(
        file=page,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for piece in _page(report, width):
        console.print(piece, soft_wrap=False)
    # Rich fills its columns with spaces up to the edge.
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _page(report: Report, width: int) -> Iterator[RenderableType]:
    word = Text(printable(report.headline), style=VERDICT_STYLE[report.verdict])
    yield Text.assemble(word, f"{_aside(report)}  {printable(report.reason, limit=2000)}")
    yield ""
    yield from _sides(report, width)
    if report.outputs:
        yield ""
        yield from outputs(report.outputs, width, alone=len(report.models) == 1)
    if report.proof is not None:
        yield ""
        yield from (labeled(label, printable(text, limit=2000))
                    for label, text in proof_lines(report))  # fmt: skip
    if report.test_set is not None:
        yield ""
        yield from (labeled(label, text) for label, text in over_samples(report.test_set))
    if report.decoding is not None:
        yield ""
        yield from (labeled(label, text) for label, text in decoding_lines(report.decoding))
    if report.quantization:
        yield ""
        yield from quantized(report.quantization, width)
    yield from findings(report)
    notes = list(_notes(report))
    if notes:
        yield ""
    yield from notes
    yield ""
    yield Text(_closing(report), style="dim")


def _aside(report: Report) -> str:
    """Why the exit code is not the verdict's, where it is another."""
    if report.exit_code == report.verdict.exit_code:
        return ""
    if report.exit_code == BUG:
        return ", against its proof"
    return ", accepted" if report.exit_code == 0 else ", but not strictly"


def _sides(report: Report, width: int) -> Iterator[RenderableType]:
    """Each model and, below it, where it was run; an environment is ``role`` or ``role place``."""
    rest = dict(report.environments)
    why = {each.role: each.why for each in report.not_run}
    for model in report.models:
        yield labeled(model.role, _model(model))
        for key in [key for key in rest if key.partition(" ")[0] == model.role]:
            place = key.partition(" ")[2] or "run"
            environment = rest.pop(key)
            if place in ("run", "plain") and model.role in why:
                if place == "run":
                    text = f"{environment.runtime}: not run, {why[model.role]}"
                    yield _one_line(f"  {place}", printable(text), width)
                continue
            run = report.environments.get(f"{model.role} run")
            text = _environment(environment)
            if place == "plain" and run is not None:
                text = _beside(environment, run)
            yield _one_line(f"  {place}", text, width)
    for key, environment in rest.items():
        yield _one_line(key, _environment(environment), width)


def _one_line(label: str, text: str, width: int) -> Text:
    line = Text.assemble((f"{printable(label):<{MARGIN}} ", "dim"), text)
    line.truncate(width, overflow="ellipsis")
    return line


def _model(model: ModelSummary) -> str:
    parts = [model.framework]
    if model.nodes or model.opset:  # recorded outputs have neither
        parts += [counted(model.nodes, "node"), counted(model.constants, "constant")]
    if model.opset:
        parts.append("opset " + ", ".join(_opset(model.opset)))
    if model.producer:
        parts.append(model.producer)
    return printable(f"{model.location}: {', '.join(parts)}")


def _opset(opset: Mapping[str, int]) -> Iterator[str]:
    for domain, version in sorted(opset.items()):
        yield f"{version}" if domain in ("", "ai.onnx") else f"{domain} {version}"


def _environment(environment: Environment) -> str:
    parts = [f"{environment.runtime} {environment.version}".strip()]
    if environment.interpreter:
        parts.append(f"Python {environment.facts.get('python', '')} {environment.interpreter}")
    parts.append(environment.device)
    parts.append(environment.precision)
    if environment.threads is not None:
        parts.append(counted(environment.threads, "thread"))
    if environment.isolation != "process":
        parts.append(f"isolation {environment.isolation}")
    # What is off is as it usually is, and what was shown already is not repeated.
    known = {"", "no", environment.device, environment.precision}
    parts += [f"{key}={value}" for key, value in sorted(environment.settings.items())
             if value not in known]  # fmt: skip
    return printable(", ".join(parts))


def _beside(plain: Environment, run: Environment) -> str:
    """The run without optimizers, by its differences from the run as deployed."""
    other = [
        f"{key}={value}"
        for key, value in sorted(plain.settings.items())
        if value != run.settings.get(key)
    ]
    return printable(f"as run, but {', '.join(other) or 'with every optimizer off'}")


def _baseline_statuses(report: Report) -> Iterator[RenderableType]:
    for each in report.baseline.statuses if report.baseline is not None else ():
        until = each.accepted.until if each.accepted is not None else None
        text = f"{each.what} is {each.state}: {each.message}"
        yield labeled("baseline", printable(text + (f", until {until}" if until else "")))


def _not_compared(report: Report) -> Iterator[RenderableType]:
    """Outputs that are owed on some input, and the reasons."""
    covered = report.coverage.outputs if report.coverage is not None else ()
    missing = [each for each in covered if each.not_compared]
    for each in missing[:MOST_NOTES]:
        tried = each.within + each.beyond + each.not_compared
        text = f"output {each.output!r} on {each.not_compared} of {counted(tried, 'input')}"
        yield labeled("unjudged", printable(f"{text}: {'; '.join(each.reasons)}"))
    if len(missing) > MOST_NOTES:
        yield labeled("unjudged", f"… and {len(missing) - MOST_NOTES} more: --format json")


def _notes(report: Report) -> Iterator[RenderableType]:
    yield from _baseline_statuses(report)
    yield from _not_compared(report)
    if report.alignment is not None:
        yield labeled("alignment", report.alignment.summary)
    parts = [f"{model.role}: {note}" for model in report.models for note in model.notes]
    parts += _renamed("input", report.input_bindings, report.findings)
    parts += _renamed("output", report.output_bindings, report.findings)
    parts += [f"trusted: {what}" for what in report.trusted]
    for line in parts[:MOST_NOTES]:
        yield labeled("note", printable(line))
    if len(parts) > MOST_NOTES:
        yield labeled("note", f"… and {len(parts) - MOST_NOTES} more: --format json")
    skipped = _skipped(report.skipped)
    for line in skipped[:MOST_NOTES]:
        yield labeled("skipped", printable(line))
    if len(skipped) > MOST_NOTES:
        yield labeled("skipped", f"… and {len(skipped) - MOST_NOTES} more: --format json")


def _skipped(all_of: Sequence[Skipped]) -> list[str]:
    """What was skipped, grouped by the reason."""
    found: dict[str, list[str]] = {}
    for one in all_of:
        found.setdefault(one.why, []).append(one.what)
    return [f"{'; '.join(dict.fromkeys(whats))}: {why}" for why, whats in found.items()]


def _renamed(kind: str, bindings: Sequence[Binding], findings: Sequence[Finding]) -> list[str]:
    # A pair of equal names, bound by them, is what everyone expects; a finding need no note.
    parts = [finding.summary for finding in findings if finding.code == "INTERFACE"]
    return [
        f"{kind} {one.reference} is {one.candidate} in the candidate ({one.how})"
        for one in bindings
        if (one.reference != one.candidate or one.how != BoundBy.NAME)
        and not any(repr(one.reference) in each and repr(one.candidate) in each for each in parts)
    ]


def _closing(report: Report) -> str:
    parts = [f"seed {report.seed}", counted(report.draws, "draw")]
    parts.append(f"false alarm {report.false_alarm:g}")
    origins = _origins(report)
    if origins:
        parts.insert(0, "inputs " + "; ".join(printable(origin, limit=120) for origin in origins))
    if report.cost is not None:
        parts.append(_cost(report.cost))
    elif report.elapsed:
        parts.append(f"{sum(report.elapsed.values()):.1f} s")
    if report.version:
        parts.append(f"isomorph {report.version}")
    return " · ".join([*parts, "more: --format html -o page.html"])


def _cost(cost: Cost) -> str:
    """``2.1 s, 3.0 CPU s (oracle 1.4, load 0.9, start 0.5)``: the phases with the most."""
    costliest = (f"{each.name} {each.cpu:.1f}" for each in cost.phases[:_MOST_PHASES])
    return f"{cost.wall:.1f} s, {cost.cpu:.1f} CPU s ({', '.join(costliest)})"


def _origins(report: Report) -> list[str]:
    """Where the inputs came from; those generated in several ways share an entry."""
    # The steps of decoding have a section of their own.
    found = {one.origin: one.kind for one in report.inputs if one.kind != InputKind.DECODED}
    made = [
        each.removeprefix(_GENERATED)
        for each, kind in found.items()
        if kind == InputKind.GENERATED and each.startswith(_GENERATED)
    ]
    rest = sorted(each for each in found if each.removeprefix(_GENERATED) not in made)
    # "normal, seed 0" and "normal, seed 0, batch=1" share their words; sizes come last.
    words = dict.fromkeys(word for each in made for word in each.split(", "))
    words.pop(f"seed {report.seed}", None)
    text = ", ".join(sorted(words, key=lambda word: "=" in word))
    return [*([_GENERATED + text] if made else []), *rest]
