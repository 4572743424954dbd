"""The smallest pair of sub-models around a faulty node, checked to still show the fault."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from isomorph import registry
from isomorph.checking.check import check_pair
from isomorph.checking.check_single import check_alone
from isomorph.checking.config import CheckConfig
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.extraction import Extraction, ScriptFacts
from isomorph.core.messages import message
from isomorph.core.subgraph import Piece
from isomorph.extraction.fault_sites import Place, Request, places
from isomorph.extraction.run_script import why_not
from isomorph.extraction.script_facts import EXPECTED, NoScriptError, Part, of_pair, of_run
from isomorph.inputs.feeds import Sample
from isomorph.localize.fault_subgraph import (
    FaultSubgraph,
    SubgraphSide,
    run_subgraph,
    smallest_subgraph,
)
from isomorph.match.binding import bind_inputs
from isomorph.sessions.fetched_feeds import present, renamed
from isomorph.sessions.in_process import extractor
from isomorph.sessions.model_handle import ModelHandle
from isomorph.store.atomic import new_folder
from isomorph.store.input_files import write_arrays

INPUTS = "inputs.npz"
SCRIPT = "reproduce.py"


def extract(
    request: Request,
    folder: Path,
    describe: Callable[[Extraction], str],
    script: Callable[[ScriptFacts], str],
) -> Extraction:
    """Find the place, cut it out, check the part; the folder appears when all of it is there.

    ``describe`` returns the README that goes with the part, ``script`` the program that shows the
    fault without isomorph. It is run, and left out where it does not.
    """
    for each in (request.reference, request.candidate):
        extractor(each.model.framework)
    with TemporaryDirectory(prefix="isomorph-extract-") as work:
        found, facts = _extracted(request, Path(work))
        found = _scripted(found, facts, Path(work, "kept"), script)
        with new_folder(folder) as aside:
            for file in Path(work, "kept").iterdir():
                shutil.copyfile(file, aside / file.name)
            (aside / "README.md").write_text(describe(found), encoding="utf-8")
    return replace(found, folder=str(folder))


def _scripted(
    found: Extraction,
    facts: ScriptFacts | str,
    folder: Path,
    script: Callable[[ScriptFacts], str],
) -> Extraction:
    """The part with its script, or with the reason why there is none."""
    if not found.shows:
        return found
    if isinstance(facts, str):
        return replace(found, no_script=facts)
    path = folder / SCRIPT
    path.write_text(script(facts), encoding="utf-8")
    why = why_not(path)
    if why:
        path.unlink()
        return replace(found, no_script=why)
    return replace(found, script=SCRIPT)


def _extracted(request: Request, work: Path) -> tuple[Extraction, ScriptFacts | str]:
    """The smallest part that shows the fault; failing that, the smallest that could be cut."""
    best: tuple[Extraction, ScriptFacts | str] | None = None
    attempts = ((p, a) for p in places(request, work) for a in _attempts(p))
    for number, (place, attempt) in enumerate(attempts):
        folder = work / f"attempt-{number}"
        try:
            tried = _tried(place, attempt, request, folder)
        except IsomorphError:
            continue  # this part cannot be a model of its own; a larger one may
        if best is None or tried[0].shows:
            best = tried
            shutil.rmtree(work / "kept", ignore_errors=True)
            shutil.copytree(folder, work / "kept")
        if best[0].shows:
            return best
    if best is None:
        raise UsageError(
            "NOT_CUT",
            "no part around the faulty node could be made a model of its own",
            where=request.node,
            fix="attach the whole models to the report",
        )
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A part of one side, or of both, to be cut out."""

    candidate: SubgraphSide
    reference: SubgraphSide | None = None
    bound: Mapping[str, str]
    layouts: Mapping[str, tuple[int, ...]]
    whole: bool = False


def _attempts(place: Place) -> Iterator[_Attempt]:
    """The faulty nodes alone; then everything from the inputs to the wrong tensor."""
    matcher, fault = place.located.matcher, place.fault
    if place.sides[0] is place.sides[1]:
        alone = run_subgraph(matcher.candidate, fault.nodes, fault.tensor)
        if alone is not None:
            yield _Attempt(candidate=alone, bound={}, layouts={})
        yield _Attempt(candidate=_from_inputs(place, 1, fault.tensor), bound={}, layouts={},
                       whole=True)  # fmt: skip
        return
    near = smallest_subgraph(fault, matcher, place.earlier)
    if near is not None:
        yield _Attempt(
            candidate=near.candidate, reference=near.reference, bound=near.bound,
            layouts=_turned(near),
        )  # fmt: skip
    left, right = _from_inputs(place, 0, fault.counterpart), _from_inputs(place, 1, fault.tensor)
    graphs = [handle.model.graph for handle in place.sides]
    bound = bind_inputs(graphs[0].inputs, graphs[1].inputs, {})
    pairs = {p.reference: p.candidate for p in bound if p.candidate in right.feeds}
    yield _Attempt(candidate=right, reference=left, bound=pairs, layouts={}, whole=True)


def _turned(near: FaultSubgraph) -> dict[str, tuple[int, ...]]:
    return {name: way.permutation for name, way in near.moved.items() if way.moves}


def _from_inputs(place: Place, side: int, tensor: str) -> SubgraphSide:
    matcher = place.located.matcher
    topology = (matcher.reference, matcher.candidate)[side].topology
    needed = topology.above(tensor)
    return SubgraphSide(
        feeds={n: v for n, v in present(place.feeds[side]).items() if n in needed},
        fetch=tensor,
    )


def _tried(
    place: Place, attempt: _Attempt, request: Request, folder: Path
) -> tuple[Extraction, ScriptFacts | str]:
    """Cut the part out, load it, and check it like any pair."""
    folder.mkdir(parents=True)
    candidate = _cut(place.sides[1], attempt.candidate, folder, "candidate")
    names = _new_names(attempt.candidate, candidate)
    right = Part(handle=candidate, feeds=renamed(attempt.candidate.feeds, names))
    options = request.options
    quiet = CheckConfig(
        seed=options.seed,
        budgets=options.budgets,
        on_progress=options.on_progress,
        any_arrangement=True,
    )
    if attempt.reference is None:
        feeds = right.feeds
        report = check_alone(candidate, Sample(origin=f"file {INPUTS}", feeds=feeds), quiet)
        words = _command([candidate], quiet, request.ops)
        file = None
        write_arrays(folder / EXPECTED, {"expected": place.fault.value})
        facts = _facts(request, lambda: of_run(place.node, right, report))
    else:
        reference = _cut(place.sides[0], attempt.reference, folder, "reference")
        own = _new_names(attempt.reference, reference)
        feeds = renamed(attempt.reference.feeds, own)
        bound = {own[a]: names[b] for a, b in attempt.bound.items() if a in own}
        turned = {names[n]: order for n, order in attempt.layouts.items()}
        asked = replace(quiet, bind_inputs=bound, layouts=turned)
        sample = Sample(origin=f"file {INPUTS}", feeds=feeds)
        report = check_pair(reference, candidate, sample, asked)
        file = Path(reference.model.location).name
        words = _command([reference, candidate], asked, request.ops)
        left = Part(handle=reference, feeds=feeds)
        moved = place.fault.moved
        facts = _facts(
            request,
            lambda: of_pair(place.node, left, right, bound=bound, moved=moved, report=report),
        )
    write_arrays(folder / INPUTS, feeds)
    found = Extraction(
        node=place.node,
        reference=file,
        candidate=Path(candidate.model.location).name,
        inputs=INPUTS,
        command=words,
        report=report,
        whole=attempt.whole,
        nodes=len(candidate.model.graph.nodes),
        nodes_before=len(place.sides[1].model.graph.nodes),
    )
    return found, facts


def _facts(request: Request, make: Callable[[], ScriptFacts]) -> ScriptFacts | str:
    """What a script needs, or why it cannot do without isomorph."""
    if request.ops:
        return message("EXTRACT.needs_modules")
    try:
        return make()
    except NoScriptError as error:
        return str(error)


def _new_names(part: SubgraphSide, handle: ModelHandle) -> dict[str, str]:
    """The names of the fed tensors as inputs of the cut model."""
    inputs = (spec.name for spec in handle.model.graph.inputs)
    return dict(zip(part.feeds, inputs, strict=True))


def _cut(handle: ModelHandle, part: SubgraphSide, folder: Path, name: str) -> ModelHandle:
    path = folder / f"{name}{extractor(handle.model.framework).suffix}"
    piece = Piece(feeds=tuple(part.feeds), fetch=(part.fetch,))
    handle.host.cut(handle.model, piece, part.feeds, path)
    model = handle.host.load(str(path), handle.model.framework, {})
    return ModelHandle(
        role=name, model=model, host=handle.host, runtime=handle.runtime,
        settings=handle.settings, oracle_settings=handle.oracle_settings,
    )  # fmt: skip


def _command(sides: Sequence[ModelHandle], options: CheckConfig, ops: Sequence[str]) -> str:
    """What to type in the folder: the same pair, inputs, runtimes and settings."""
    words = ["isomorph check", *(Path(each.model.location).name for each in sides)]
    words += ["--inputs", INPUTS]
    for side in sides:
        usual = registry.framework(side.model.framework).runtime
        if side.runtime != usual:
            words.append(f"--runtime {side.role}={side.runtime}")
        settings = {f"{side.role}.{key}": value for key, value in side.settings.items()}
        words += [f"--set {shlex.quote(f'{key}={value}')}" for key, value in settings.items()]
    for ref, cand in options.bind_inputs.items():
        if ref != cand:
            words.append(f"--bind-input {shlex.quote(f'{ref}={cand}')}")
    for name, order in options.layouts.items():
        words.append(f"--layout {shlex.quote(f'{name}={_axes(order)}')}")
    for each in ops:  # a file is named from inside the folder
        place = str(Path(each).resolve()) if Path(each).is_file() else each
        words.append(f"--ops {shlex.quote(place)}")
    return " ".join([*words, *(["--trust"] if ops else [])])


def _axes(order: Sequence[int]) -> str:
    return ",".join(map(str, order))
