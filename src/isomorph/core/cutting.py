"""Cutting a graph at tensors: the steps between some and others, and the errors of a cut."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.core.trace import Noise

K = TypeVar("K", bound=Hashable)
P = TypeVar("P", bound=Hashable)
G = TypeVar("G")


def walk_back(
    fetch: Iterable[K],
    fed: Collection[K],
    maker: Callable[[K], P | None],
    reads: Callable[[P], Iterable[K]],
    before: Callable[[P], Iterable[P]] = lambda _: (),
) -> tuple[set[P], list[K]]:
    """Return the steps from the fed tensors to the fetched ones, and the tensors they start from.

    ``maker`` returns the step that computes a tensor, and ``reads`` the tensors that a step reads.
    ``before`` returns the steps that must have run before a step though it reads none of their
    outputs. The tensors to start from are neither fed nor computed by any step.
    """
    needed: set[P] = set()
    ends: list[K] = []
    seen: set[K] = set()
    waiting = [key for key in fetch if key not in fed]
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        place = maker(key)
        if place is None:
            ends.append(key)
            continue
        for each in (place, *before(place)):
            if each not in needed:
                needed.add(each)
                waiting += [read for read in reads(each) if read not in fed]
    return needed, ends


def unknown_tensor(name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that no tensor has, with the nearest name that one has."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return UsageError(
        "UNKNOWN_TENSOR",
        f"the model has no tensor {name!r}",
        fix=f"did you mean {near[0]!r}?" if near else "isomorph inspect --nodes lists them",
    )


def unfed_inputs(names: Sequence[str], fetched: str, *, file: str | None) -> UsageError:
    """The error for a run that depends on inputs that were not fed."""
    return UsageError(
        "MISSING_INPUT",
        f"input {names[0]!r} is needed and was not fed",
        file=file,
        why=f"fetching {fetched!r} depends on: {', '.join(names)}",
        fix="feed it, or feed the tensors between it and what is fetched",
    )


def outputs_only(
    fetch: Sequence[str], outputs: Collection[str], *, why: str, fix: str
) -> UsageError:
    """The error for tensors fetched from a session that gives outputs alone."""
    inner = [name for name in fetch if name not in outputs]
    return UsageError(
        "OUTPUTS_ONLY",
        "this session gives outputs from inputs only",
        where=", ".join(inner[:3]) or None,
        why=why,
        fix=fix,
    )


def refuse_noise(noise: Noise | None, runtime: str) -> None:
    """Only an oracle can be disturbed."""
    if noise is not None:
        raise UsageError("NO_NOISE", f"only an oracle can be disturbed, not {runtime}")


def require_known(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that no tensor has."""
    for name in names:
        if name not in known:
            raise unknown_tensor(name, known)


def require_whole_run(
    feeds: Collection[str],
    fetch: Sequence[str],
    ends: tuple[Sequence[str], Sequence[str]],
    *,
    why: str,
    fix: str,
    file: str | None,
) -> None:
    """Refuse what a session cannot do that runs a model from all inputs to outputs (``ends``)."""
    inputs, outputs = ends
    if not set(fetch) <= set(outputs) or not set(feeds) <= set(inputs):
        raise outputs_only(fetch, outputs, why=why, fix=fix)
    if missing := [name for name in inputs if name not in feeds]:
        raise unfed_inputs(missing, fetch[0], file=file)


def incomplete_piece(name: str) -> UsageError:
    """The error for a part of a model that depends on more than its inputs."""
    return UsageError(
        "MISSING_INPUT",
        f"the piece depends on {name!r}, which is not among its inputs",
        fix="cut further up, or feed it",
    )


def find_body(
    root: G,
    node: str,
    body: str,
    bodies: Callable[[G], Iterable[tuple[str, str, int, G]]],
) -> tuple[list[G], str]:
    """Return the graphs from the main one to a body of a node, and the prefix of names in the body.

    ``node`` is the name of a node with its path, ``loop/body#0/branch``. ``bodies`` yields of
    every body in a graph the name of its node, its key, its number and the graph itself.
    """
    path, prefix, rest = [root], "", f"{node}/{body}"
    while True:
        for name, key, number, inner in bodies(path[-1]):
            found, step = f"{name}/{key}", f"{name}/{key}#{number}/"
            if rest == found:
                return [*path, inner], prefix + step
            if rest.startswith(step):
                path, prefix, rest = [*path, inner], prefix + step, rest.removeprefix(step)
                break
        else:
            raise unknown_body(node, body)


def unknown_body(node: str, body: str) -> UsageError:
    """The error for a body that no node has."""
    return UsageError("UNKNOWN_NODE", f"the model has no body {body!r} of node {node!r}")
