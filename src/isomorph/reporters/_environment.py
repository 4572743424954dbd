"""The two models and where each was run, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.reporters._findings import MARGIN, labeled

if TYPE_CHECKING:
    from isomorph.core.report import ModelSummary, Report
    from isomorph.core.trace import Environment


def sides(report: Report, width: int, *, everything: bool) -> Iterator[RenderableType]:
    """Each model and, below it, where it was run; an environment is ``role`` or ``role place``."""
    rest = dict(report.environments)
    line = labeled if everything else partial(_one_line, width=width)
    why = {each.role: each.why for each in report.not_run}
    for model in report.models:
        yield labeled(model.role, _model(model))
        for key in [key for key in rest if key.partition(" ")[0] == model.role]:
            place = key.partition(" ")[2] or "run"
            environment = rest.pop(key)
            if place in ("oracle", "plain") and not everything:
                continue
            if place in ("run", "plain") and model.role in why:
                if place == "run":
                    text = message(
                        "REPORT.run_not_made", runtime=environment.runtime, why=why[model.role]
                    )
                    yield line(f"  {place}", printable(text))
                continue
            run = report.environments.get(f"{model.role} run")
            text = _environment(environment)
            if place == "plain" and run is not None:
                text = _beside(environment, run)
            yield line(f"  {place}", text)
    for key, environment in rest.items():
        yield line(key, _environment(environment))


def _one_line(label: str, text: str, *, width: int) -> Text:
    """What does not fit is cut; ``-v`` shows all of it."""
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
    parts += [environment.device, environment.precision]
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
    return printable(
        message("REPORT.oracle_as_run", but=", ".join(other))
        if other
        else message("REPORT.oracle_plain")
    )
