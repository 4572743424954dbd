"""A decoder that writes its caches in place, as one that takes and returns them.

An export with a static cache keeps keys and values in buffers. Decoding compares them from step to
step, and puts those of one model into the other: so they become inputs and outputs. A counter of
positions beside them is what the position of the first token says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from isomorph.frameworks.pytorch.in_place_ops import writes
from isomorph.frameworks.pytorch.silence_logs import quietly

_CACHE_RANK = 3


class StateOutside(torch.nn.Module):  # type: ignore[misc]
    """A module whose caches come with each call, and are returned with its outputs."""

    def __init__(self, module: Any, counters: Mapping[str, torch.Tensor], position: str) -> None:  # noqa: ANN401
        super().__init__()
        self.module, self.counters, self.position = module, dict(counters), position

    def forward(self, past: dict[str, torch.Tensor], **inputs: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """The outputs, and the caches with the positions of these tokens."""
        state = {name: value.clone() for name, value in past.items()}
        for name, before in self.counters.items():
            first = inputs[self.position].reshape(-1)[0]
            state[name] = first.to(before.dtype).reshape(before.shape).clone()
        found = torch.func.functional_call(self.module, state, (), inputs)
        outputs = found if isinstance(found, tuple) else (found,)
        return (*outputs, *(state[name] for name in past))


def with_state_outside(exported: Any) -> Any | None:  # noqa: ANN401
    """The program with its caches outside; None where it keeps none, or something else.

    Buffers of three and more axes that it writes are caches, and single integers are counters.
    Two steps in a row must give what they give with the caches inside.
    """
    with quietly():  # torch warns about its own parts
        return _outside(exported)


def _outside(exported: Any) -> Any | None:  # noqa: ANN401
    written = _written_buffers(exported)
    buffers = dict(exported.named_buffers())
    caches = {name: buffers[name] for name in written if buffers[name].dim() >= _CACHE_RANK}
    counters = {name: buffers[name] for name in written if name not in caches}
    given = _named_inputs(exported)
    position = next((name for name in given if "position" in name.lower()), None)
    whole = [
        value for value in counters.values() if value.numel() == 1 and not value.is_floating_point()
    ]
    if not caches or position is None or len(whole) < len(counters):
        return None
    module = exported.module()
    outside = StateOutside(module, counters, position)
    past = {name: torch.zeros_like(value) for name, value in caches.items()}
    if not _same_steps(outside, exported, given, past):
        return None
    with torch.no_grad():
        return torch.export.export(outside, (past,), given, strict=False)


def _written_buffers(exported: Any) -> list[str]:  # noqa: ANN401
    """The buffers that a run changes, directly or through a view."""
    signature = exported.graph_signature
    if not signature.buffers_to_mutate and not _may_write_buffers(exported):
        return []
    try:
        functional = exported.run_decompositions({})
    except (RuntimeError, AssertionError, TypeError, ValueError, LookupError):
        # torch cannot rewrite every program.
        return []
    return sorted(functional.graph_signature.buffers_to_mutate.values())


def _may_write_buffers(exported: Any) -> bool:  # noqa: ANN401
    """Whether a node writes to what follows from a buffer: to a view of it, perhaps.

    To find out which, torch rewrites the whole program, which takes as long as to load it.
    """
    following = set(exported.graph_signature.inputs_to_buffers)
    for node in exported.graph.nodes:
        if any(written.name in following for written in writes(node)):
            return True
        if any(each.name in following for each in node.all_input_nodes):
            following.add(node.name)
    return False


def _named_inputs(exported: Any) -> dict[str, Any]:  # noqa: ANN401
    """The example inputs of a program by their names."""
    arguments, named = exported.example_inputs
    names = exported.graph_signature.user_inputs
    return {**dict(zip(names, arguments, strict=False)), **named}


def _same_steps(
    outside: StateOutside,
    exported: Any,  # noqa: ANN401
    given: Mapping[str, Any],
    past: Mapping[str, Any],
) -> bool:
    """Whether two steps give the same, with the caches inside and outside."""
    inside = exported.module()
    for name, value in inside.named_buffers():
        if name in past or name in outside.counters:
            value.zero_()
    caches = dict(past)
    with torch.no_grad():
        for step in range(2):
            fed = {**given, outside.position: given[outside.position] * 0 + step}
            expected = inside(**fed)
            found = outside(caches, **fed)
            caches = dict(zip(caches, found[-len(caches) :], strict=True))
            first = expected[0] if isinstance(expected, tuple) else expected
            if not torch.equal(first, found[0]):
                return False
    return True
