"""Choose sizes of dynamic axes to try besides the usual ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.core.limits import SIZE_COMBINATIONS
from isomorph.core.stated_numbers import SIZE_STEPS
from isomorph.inputs.generate import DEFAULT_BATCH, DEFAULT_SIZE, axis_name

if TYPE_CHECKING:
    from isomorph.core.model import Dimension, Graph, TensorSpec

Shapes = Mapping[str, Sequence["Dimension"] | None]


def free_axes(graph: Graph, others: Shapes) -> dict[str, int]:
    """Return the axes that neither model fixes, by name, with their position in the tensor."""
    found: dict[str, int] = {}
    fixed: set[str] = set()
    for spec in graph.inputs:
        other = others.get(spec.name)
        same_rank = other is not None and len(other) == len(spec.shape or ())
        for place, size in enumerate(spec.shape or ()):
            if isinstance(size, int):
                continue
            name = axis_name(spec.name, place, size)
            found[name] = place
            if same_rank and other is not None and isinstance(other[place], int):
                fixed.add(name)
    return {name: place for name, place in found.items() if name not in fixed}


def other_sizes(
    graph: Graph,
    others: Shapes,
    bound: Mapping[str, int],
    stated: Mapping[str, Sequence[int]] | None,
) -> list[dict[str, int]]:
    """Return sizes to try, the smallest first; ``bound`` are axes whose size the user stated."""
    free = {name: at for name, at in free_axes(graph, others).items() if name not in bound}
    if stated is not None:
        _refuse_unknown(stated, free)
        combined = product(*([(axis, size) for size in sizes] for axis, sizes in stated.items()))
        combinations = [dict(pairs) for pairs in combined if pairs]
        return list(SIZE_COMBINATIONS.first(sorted(combinations, key=_volume)))
    usual = usual_sizes(free)
    return [
        {
            name: size
            for name, size in over_caches(graph, {**usual, **sizes}).items()
            if name in sizes or size != usual[name]
        }
        for sizes in _usual(free)
    ]


def usual_sizes(free: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of free axes that samples have by default."""
    return {name: DEFAULT_SIZE if place else DEFAULT_BATCH for name, place in free.items()}


def over_caches(graph: Graph, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes, with a mask of a decoder over what is cached and the tokens of the step.

    Its axis is declared free, and takes just one size. Nothing changes where a graph has no tokens,
    no caches, or no mask with an axis of its own.
    """
    axes: dict[str, set[str]] = {"mask": set(), "tokens": set(), "caches": set()}
    for spec in graph.inputs:
        axes[_kind(spec)] |= _length_axes(spec) & set(sizes)
    tokens, caches = ({sizes[name] for name in axes[kind]} for kind in ("tokens", "caches"))
    if len(tokens) != 1 or len(caches) != 1:
        return dict(sizes)
    masks = axes["mask"] - axes["tokens"] - axes["caches"]
    return {**sizes, **dict.fromkeys(masks, tokens.pop() + caches.pop())}


def next_sizes(graph: Graph, shapes: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """Yield sizes a little above those of ``shapes``; the batch stays where another axis is free.

    A window that is cut off at a border, or a size that is divided, shows at some of them.
    """
    given = {
        axis_name(spec.name, place, size): shapes[spec.name][place]
        for spec in graph.inputs
        if spec.name in shapes and len(shapes[spec.name]) == len(spec.shape or ())
        for place, size in enumerate(spec.shape or ())
        if not isinstance(size, int)
    }
    free = free_axes(graph, {})
    moved = [name for name in given if free[name] != 0] or list(given)
    for step in SIZE_STEPS if moved else ():
        yield {name: size + step if name in moved else size for name, size in given.items()}


def _kind(spec: TensorSpec) -> str:
    """What an input is to a decoder, by its name and type."""
    if "mask" in spec.name.lower():
        return "mask"
    return "caches" if "float" in (spec.dtype or "") else "tokens"


def _length_axes(spec: TensorSpec) -> set[str]:
    """The free axes that may count positions: of a cache the inner ones, else the last."""
    shape = spec.shape or ()
    inner = range(1, len(shape) - 1) if _kind(spec) == "caches" else range(1, len(shape))[-1:]
    return {
        axis_name(spec.name, axis, size)
        for axis in inner
        if not isinstance(size := shape[axis], int)
    }


def _usual(free: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield sizes of the batch alone, then of all others, to separate their faults."""
    batch = [name for name, place in free.items() if place == 0]
    others = [name for name in free if name not in batch]
    if batch:
        yield dict.fromkeys(batch, 1)
        yield dict.fromkeys(batch, DEFAULT_BATCH + 1)
    if others:
        # A multiple: images and lengths are often halved, and must stay even.
        yield dict.fromkeys(others, 2 * DEFAULT_SIZE)


def _volume(sizes: Mapping[str, int]) -> tuple[int, ...]:
    whole = 1
    for size in sizes.values():
        whole *= size
    return (whole, *sorted(sizes.values()))


def _refuse_unknown(stated: Mapping[str, Sequence[int]], free: Mapping[str, int]) -> None:
    for name in stated:
        if name not in free:
            raise UsageError(
                "UNBOUND_DIM",
                f"no axis {name!r} is dynamic on both sides",
                why=f"those that are: {', '.join(free) or 'none'}",
                fix=f"--dims {next(iter(free))}=1,2,7" if free else "leave out --dims",
            )
