"""Pair the nodes that edges did not, by their order between pairs that are known.

Both graphs are written down in the order of their edges. Between two neighboring pairs the nodes
that are left are aligned as two texts are: with the most and the best counterparts in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from isomorph.core.diff_limits import DIFF_ALIGNED_NODES
from isomorph.diffing.node_pairs import Agreement, increasing

if TYPE_CHECKING:
    from isomorph.diffing.node_pairs import NodePairs

Stretch = tuple[list[int], list[int]]
"""Neighboring nodes of both sides without counterparts, by their places."""

_PAIRED, _NAME, _MODULE, _SHAPE, _ATTRIBUTES, _CONSTANTS, _SIZES = 4, 4, 2, 1, 1, 6, 1
"""What a pair is worth, and what it is worth more for each thing that both nodes share. One pair
less is never worth more agreement than that of one name or one weight."""


def pair_in_order(pairs: NodePairs) -> None:
    """Pair nodes of one operator between the known pairs, in the order of the edges."""
    for stretch in _stretches(pairs):
        for part in _parts(pairs, *stretch):
            for ref, cand in _aligned(pairs, *part):
                if pairs.fits(ref, cand, Agreement.OPERATOR):
                    pairs.pair(ref, cand)


def pair_moved(pairs: NodePairs) -> list[int]:
    """Pair nodes that stand at another place under one name; the reference's places of them."""
    left, right = pairs.sides
    names = {
        (left.ops[place], node.name): place
        for place, node in enumerate(left.nodes)
        if place not in pairs.cand_of
    }
    found = []
    for cand, node in enumerate(right.nodes):
        ref = names.get((right.ops[cand], node.name))
        if ref is not None and pairs.free(ref, cand) and pairs.fits(ref, cand, Agreement.SIZES):
            pairs.pair(ref, cand)
            found.append(ref)
    return found


def _stretches(pairs: NodePairs) -> Iterator[Stretch]:
    """What stands between the pairs that are in order on both sides."""
    orders = [side.order for side in pairs.sides]
    at = {place: index for index, place in enumerate(orders[1])}
    known = [
        (index, at[pairs.cand_of[place]])
        for index, place in enumerate(orders[0])
        if place in pairs.cand_of
    ]
    last = (-1, -1)
    for pair in (*increasing(known), (len(orders[0]), len(orders[1]))):
        left = [p for p in orders[0][last[0] + 1 : pair[0]] if p not in pairs.cand_of]
        right = [p for p in orders[1][last[1] + 1 : pair[1]] if p not in pairs.ref_of]
        if left and right:
            yield left, right
        last = pair


def _parts(pairs: NodePairs, left: list[int], right: list[int]) -> Iterator[Stretch]:
    """Cut long stretches at nodes that occur once on both sides, then at equal shares."""
    most = DIFF_ALIGNED_NODES.most
    if len(left) <= most and len(right) <= most:
        yield left, right
        return
    unique = [_unique(pairs, side, part) for side, part in enumerate((left, right))]
    cuts = increasing(
        sorted((at, unique[1][key]) for key, at in unique[0].items() if key in unique[1])
    )
    if not cuts:
        DIFF_ALIGNED_NODES.reached()
        count = -(-max(len(left), len(right)) // most)
        for part in range(count):
            yield tuple(
                each[len(each) * part // count : len(each) * (part + 1) // count]
                for each in (left, right)
            )  # type: ignore[misc]
        return
    last = (0, 0)
    for one, other in (*cuts, (len(left), len(right))):
        if one > last[0] and other > last[1]:
            yield from _parts(pairs, left[last[0] : one], right[last[1] : other])
        if one < len(left):
            yield [left[one]], [right[other]]
        last = one + 1, other + 1


def _unique(pairs: NodePairs, side: int, places: list[int]) -> dict[Hashable, int]:
    graph = pairs.sides[side]
    keys: list[Hashable] = [(graph.ops[place], graph.nodes[place].name) for place in places]
    count = Counter(keys)
    return {key: at for at, key in enumerate(keys) if count[key] == 1}


def _aligned(pairs: NodePairs, left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    """The pairs of an alignment with the highest worth, by dynamic programming."""
    worth = [[_worth(pairs, ref, cand) for cand in right] for ref in left]
    best = [[0] * (len(right) + 1)]
    for row in worth:
        above, line = best[-1], [0]
        for at, value in enumerate(row):
            most = max(above[at + 1], line[at])
            line.append(max(most, above[at] + value) if value else most)
        best.append(line)
    one, other = len(left), len(right)
    found: list[tuple[int, int]] = []
    while one and other:
        here = best[one][other]
        value = worth[one - 1][other - 1]
        if value and here == best[one - 1][other - 1] + value:
            one, other = one - 1, other - 1
            found.append((left[one], right[other]))
        elif here == best[one - 1][other]:
            one -= 1
        else:
            other -= 1
    yield from reversed(found)


def _worth(pairs: NodePairs, ref: int, cand: int) -> int:
    """What a pair is worth; zero where the two cannot be one node."""
    left, right = pairs.sides
    if pairs.share_weight(ref, cand):
        return _CONSTANTS  # not one node, perhaps, but at one place
    if left.ops[ref] != right.ops[cand] or not pairs.fits(ref, cand, Agreement.OPERATOR):
        return 0
    one, other = left.nodes[ref], right.nodes[cand]
    worth = _PAIRED
    if one.name == other.name or set(one.outputs) & set(other.outputs):
        worth += _NAME
    modules = one.source and one.source.module, other.source and other.source.module
    if modules[0] and modules[1]:
        worth += _MODULE if modules[0] == modules[1] else -_MODULE
    shapes = left.shape(one.outputs[0]), right.shape(other.outputs[0])
    worth += _SHAPE if None not in shapes and _sizes(shapes[0]) == _sizes(shapes[1]) else 0
    worth += _ATTRIBUTES if pairs.fits(ref, cand, Agreement.SIZES) else 0
    weights = left.weight_classes[ref], right.weight_classes[cand]
    worth += _CONSTANTS if weights[0] and weights[0] == weights[1] else 0
    return worth + (_SIZES if left.sizes(ref) == right.sizes(cand) else 0)


def _sizes(shape: tuple[object, ...] | None) -> list[str]:
    """The sizes of a shape, sorted, so that the order of axes does not count."""
    return sorted(map(str, shape or ()))
