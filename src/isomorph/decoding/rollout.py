"""Greedy decoding of one model: the prompt, then one token at a time, on its own caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.decoding.step_feeds import State, step_feeds

if TYPE_CHECKING:
    from isomorph.core.decoding import CachePair
    from isomorph.core.trace import Array, Arrays
    from isomorph.decoding.signature import DecoderSignature
    from isomorph.sessions.model_handle import ModelHandle

Run = Callable[["Arrays"], "Arrays"]
"""One run of a model: its outputs, by name, from its feeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step as it was run; ``number`` is 0 while the prompt is read."""

    number: int
    state: State
    feeds: Mapping[str, Array]
    scores: Array
    """The logits at the last position, one row for each text."""

    @property
    def chosen(self) -> Array:
        """The token of the largest logit in each row."""
        return np.asarray(np.argmax(self.scores, axis=1))


def runner(handle: ModelHandle) -> Run:
    """One run of a model as it is deployed, with all of its outputs."""
    names = list(dict.fromkeys(spec.name for spec in handle.model.graph.outputs))

    def run(feeds: Arrays) -> Arrays:
        arrays: dict[str, Array] = {name: np.asarray(value) for name, value in feeds.items()}
        return handle.run().run(handle.real(arrays), names)

    return run


def decode(
    run: Run, signature: DecoderSignature, first: State, steps: int, *, at_once: int | None
) -> Iterator[StepRun]:
    """Read the prompt and decode so many tokens, each the one of the largest logit.

    ``at_once`` is how many tokens a step takes; None where all of the prompt may be read at once.
    """
    if at_once not in (None, 1):
        raise UsageError(
            "FIXED_TOKENS",
            f"the {signature.role} takes exactly {at_once} tokens at each step",
            why="the steps after the prompt take one token each",
            fix="export the model with a dynamic axis of tokens, or for one token",
        )
    prompt = first.tokens
    width = prompt.shape[1] if at_once is None else 1
    state = replace(first, tokens=prompt[:, :width], mask=first.mask[:, : first.cached + width])
    for start in range(0, prompt.shape[1], width):
        if start:
            state = replace(state, tokens=prompt[:, start : start + width])
            state = _with_mask(state, first)
        done = _step(run, signature, state, number=0)
        yield done[0]
        state = done[1]
    chosen = done[0].chosen
    for number in range(1, steps + 1):
        tokens = chosen[:, None]
        if not signature.caches:
            tokens = np.concatenate([state.tokens, tokens], axis=1)
        state = _with_mask(replace(state, tokens=tokens), first)
        made, state = _step(run, signature, state, number=number)
        chosen = made.chosen
        yield made


def last_scores(logits: Array) -> Array:
    """The logits at the last position, in float64, one row for each text."""
    values = np.asarray(logits).astype(np.float64)
    return values[:, -1, :] if values.ndim == 3 else values.reshape(-1, values.shape[-1])


def whole_text(first: State, chosen: Array) -> State:
    """The state in which all tokens so far are read in one step."""
    state = replace(first, tokens=np.concatenate([first.tokens, chosen], axis=1))
    return _with_mask(state, first)


def _with_mask(state: State, first: State) -> State:
    """The state with a mask as long as its positions; those after the prompt are all kept."""
    total = state.cached + state.length
    known = first.mask[:, :total]
    more = np.ones((known.shape[0], total - known.shape[1]), known.dtype)
    return replace(state, mask=np.concatenate([known, more], axis=1))


def _step(
    run: Run, signature: DecoderSignature, state: State, *, number: int
) -> tuple[StepRun, State]:
    feeds = step_feeds(signature, state)
    outputs = run(feeds)
    scores = last_scores(np.asarray(outputs[signature.logits]))
    done = StepRun(number=number, state=state, feeds=feeds, scores=scores)
    if not signature.caches:
        return done, state
    caches = {
        pair.input: _next_cache(
            pair,
            np.asarray(state.caches[pair.input]),
            np.asarray(outputs[pair.output]),
            added=state.length,
            free=not isinstance((signature.spec(pair.input).shape or (None,))[pair.axis], int),
        )
        for pair in signature.caches
    }
    return done, replace(state, caches=caches, cached=state.cached + state.length)


def _next_cache(
    pair: CachePair, before: Array, returned: Array, *, added: int, free: bool
) -> Array:
    """What the next step takes: all positions, a buffer, or the old ones with those returned.

    ``added`` is how many positions the step had; ``free``: the number of all is not declared.
    """
    if returned.ndim != before.ndim:
        raise _misshapen(pair, before, returned)
    size, more = before.shape[pair.axis], returned.shape[pair.axis]
    if more == size + added or not before.size:
        return returned
    if not returned.size:  # a merged decoder returns no cache of its encoder a second time
        return before
    # As many positions as before may be those of the step alone.
    alone = more == added and free and not np.array_equal(returned, before)
    if alone:
        return np.concatenate([before, returned], axis=pair.axis)
    if returned.shape == before.shape:
        return returned
    raise _misshapen(pair, before, returned)


def _misshapen(pair: CachePair, before: Array, returned: Array) -> RuntimeFailedError:
    shapes = ["×".join(map(str, each.shape)) for each in (before, returned)]
    return RuntimeFailedError(
        "CACHE_SHAPE",
        f"output {pair.output!r} of shape {shapes[1]} is no next cache for {pair.input!r}",
        why=f"the cache before has shape {shapes[0]}, with its positions on axis {pair.axis}",
        fix="state the pairs that belong together: --cache INPUT=OUTPUT",
    )
