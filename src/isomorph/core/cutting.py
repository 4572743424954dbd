"""Cutting a graph at tensors: the steps between some and others, and the errors of a cut."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TypeVar

from isomorph.core.errors import UsageError

K = TypeVar("K", bound=Hashable)
P = TypeVar("P", bound=Hashable)


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


def incomplete_piece(name: str) -> UsageError:
    """The error for a part of a model that depends on more than its inputs."""
    return UsageError(
        "MISSING_INPUT",
        f"the piece depends on {name!r}, which is not among its inputs",
        fix="cut further up, or feed it",
    )


def unknown_body(node: str, body: str) -> UsageError:
    """The error for a body that no node has."""
    return UsageError("UNKNOWN_NODE", f"the model has no body {body!r} of node {node!r}")
