"""What the converters to a target support of this model, asked of the installed packages.

Each is asked in a worker process: their tables come with their imports, and those may fail. What a
converter only approximates, or fails on in spite of a rule, it does not report: that was measured,
operator by operator in many forms (benchmarks/approximations.py), and is kept beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.conversion.plan import routes
from isomorph.core.conversion import Route
from isomorph.core.errors import IsomorphError
from isomorph.core.lint import Abilities, every_node
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Skipped
from isomorph.linting.measured_forms import applies_to, features

if TYPE_CHECKING:
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.core.model import Graph, Model, Node

Reported = Mapping[str, Any]

_OF_PYTHON = ("operator", "math")
"""What Python computes of sizes while a program is followed: no converter has a rule for it."""
_TABLE = Path(__file__).with_name("approximated.json")


def abilities(
    model: Model, to: str | None, width: str, converter_worker: ConverterWorker
) -> tuple[Abilities, list[Skipped]]:
    """The tables of every first converter on the way, and of the target's runtime."""
    skipped: list[Skipped] = []

    def ask(kind: str, name: str) -> Reported:
        try:
            return converter_worker.abilities(kind, name)
        except IsomorphError as error:
            skipped.append(not_done("abilities", error.sentence, name=name))
            return {}

    goal = to or model.framework
    known = goal in registry.names("frameworks")
    runtime = ask("runtimes", registry.framework(goal).runtime) if known else {}
    firsts = _first_converters(model, to, width)
    reported = {name: ask("converters", name) for name in firsts}
    measured, unmeasured = _measured(firsts)
    skipped += unmeasured
    if model.runs_python:
        skipped.append(not_done("operators"))
        reported, measured = {name: {} for name in firsts}, {}
    lacking = {
        node.name: who
        for node in every_node(model.graph)
        if (who := tuple(name for name in firsts if lacks(reported[name], node.native_op)))
    }
    refused = _rows_of(model, measured, "refused")
    changed = [each.get("changed", {}) for each in reported.values()]
    return Abilities(
        lacking=lacking,
        refused={node: tuple(who) for node, who in refused.items()},
        hopeless=frozenset(node for node, who in lacking.items() if set(who) == set(firsts)),
        types=frozenset(runtime["types"]) if "types" in runtime else None,
        kernels=runtime.get("kernels", {}) if model.framework == (to or model.framework) else {},
        opsets=_pair(runtime.get("opsets")),
        approximated=_rows_of(model, measured, "approximated"),
        ways=len(firsts),
        changed=dict(changed[0]) if changed and all(each == changed[0] for each in changed) else {},
        fixes_axes=tuple(name for name in firsts if reported[name].get("fixes_axes"))
        if all(each.get("fixes_axes") for each in reported.values())
        else (),
    ), skipped


def _first_converters(model: Model, to: str | None, width: str) -> tuple[str, ...]:
    if to is None or (to == model.framework and not width):
        return ()
    planned: Sequence[Route] = routes(model.framework, to, width)
    possible = [route for route in planned if not route.missing]
    return tuple(dict.fromkeys(route.steps[0].converter for route in possible))


def _measured(converters: Sequence[str]) -> tuple[dict[str, Reported], list[Skipped]]:
    """By converter: what is ``approximated``, and those ``refused`` despite a rule.

    Another version of a package may do otherwise, so nothing is known of it.
    """
    known: Mapping[str, Reported] = json.loads(_TABLE.read_text(encoding="utf-8"))
    found, skipped = {}, []
    for name in converters:
        others = _other_versions(known.get(name, {}).get("measured_with", {}))
        if others:
            skipped.append(not_done("approximations", name=name, versions="; ".join(others)))
        elif name in known:
            found[name] = known[name]
    return found, skipped


def _other_versions(measured: Mapping[str, str]) -> list[str]:
    found = []
    for package, tested in measured.items():
        try:
            there = version(package)
        except PackageNotFoundError:
            found.append(message("SKIPPED.no_version.why", package=package, tested=tested))
            continue
        if there != tested:
            found.append(
                message("SKIPPED.version.why", package=package, tested=tested, installed=there)
            )
    return found


def _rows_of(
    model: Model, measured: Mapping[str, Reported], key: str
) -> dict[str, dict[str, float]]:
    """By node and converter, what was measured of the form that the node has."""
    rows = {name: _by_operator(row[key]) for name, row in measured.items()}
    found: dict[str, dict[str, float]] = {}
    for node, graph in _nodes_in(model.graph):
        for name, known in rows.items():
            candidates = known.get(_bare(node.native_op), ())
            shown = features(node, graph) if candidates else {}
            errors = [row.get("error", 0.0) for row in candidates if applies_to(row["when"], shown)]
            if errors:
                found.setdefault(node.name, {})[name] = max(errors)
    return found


def _by_operator(rows: Sequence[Reported]) -> dict[str, list[Reported]]:
    found: dict[str, list[Reported]] = {}
    for row in rows:
        found.setdefault(row["op"], []).append(row)
    return found


def _nodes_in(graph: Graph) -> Iterator[tuple[Node, Graph]]:
    for node in graph.nodes:
        yield node, graph
        for body in node.bodies.values():
            yield from _nodes_in(body)


def _bare(op: str) -> str:
    """Without its domain."""
    return op.rpartition("::")[2]


def lacks(reported: Reported, op: str) -> bool:
    """Whether a converter that lists its operators does not list this one.

    One that writes over its input (``aten.relu_``) counts as the one that does not: exporters of
    PyTorch put that in its place before anything else.
    """
    family = _family(op)
    if family.partition(".")[0] in _OF_PYTHON:
        return False
    in_place = family.endswith("_") and not family.endswith("__")
    if "operators" in reported and not in_place:
        return _bare(op) not in reported["operators"]
    if "operators" in reported or "families" in reported:
        families = reported.get("families") or {_family(each) for each in reported["operators"]}
        return family not in families and not (in_place and family[:-1] in families)
    return False


def _family(op: str) -> str:
    """Without its overload: ``aten.relu``."""
    return ".".join(op.split(".")[:2])


def _pair(value: Sequence[int] | None) -> tuple[int, int] | None:
    return (int(value[0]), int(value[1])) if value else None
