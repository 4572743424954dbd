"""Whether two groups with one linear layer each are the same layer, once all is folded together.

A product with its bias, a normalization, a scale: each side states the same function of its input
in constants of its own. Folded together, both sides give one kernel and one bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.escaping import counted
from isomorph.core.messages import message
from isomorph.core.model_diff import ChangeKind, NodeChange
from isomorph.core.ops import BUILT_IN, KEEPS_NUMBERS
from isomorph.diagnose.constant_diff import difference
from isomorph.diffing.node_groups import built_in_activation, is_activation
from isomorph.match.element_bounds import Source, compare_elements
from isomorph.match.folded_weights import FoldedWeights
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.folded_weights import Folded
    from isomorph.match.stored_weights import StoredWeight, Weights

STEPS = frozenset({"BatchNormalization", "Add", "Sub", "Mul", "Div"})
"""Operators that may be folded into the layer before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedLayer:
    """One linear node with what is folded into it, and the other nodes of its group."""

    linear: Node
    folded: Folded
    others: tuple[Node, ...]

    @property
    def activations(self) -> list[str]:
        """The activations of the group, built in or nodes of their own."""
        nodes = (self.linear, *self.others)
        words = [word for node in nodes if (word := built_in_activation(node))]
        alone = [each.op for each in self.others if is_activation(each.op)]
        return sorted([*(BUILT_IN.get(word, word) for word in words), *alone])

    @property
    def is_folded(self) -> bool:
        """Whether the linear node and folding say all: no other node has attributes or an order."""
        return all(
            node.op in STEPS or (is_activation(node.op) and not node.attributes)
            for node in self.others
        )


class FoldedLayers:
    """The linear nodes of both graphs with what follows each of them."""

    def __init__(self, reference: Weights, candidate: Weights) -> None:
        self._weights = reference, candidate

    @cached_property
    def _folds(self) -> tuple[FoldedWeights, FoldedWeights]:
        reference, candidate = self._weights
        return FoldedWeights(reference), FoldedWeights(candidate)

    def layer(self, side: int, nodes: Sequence[Node], constants: set[str]) -> FoldedLayer | None:
        """The layer that nodes amount to; None where they are anything else.

        ``constants`` are the floats that the nodes read. All of them have to be folded.
        """
        folds = self._folds[side]
        linear = [node for node in nodes if node.name in folds.linear]
        if len(linear) != 1 or not _plain(linear[0]):
            return None
        others = tuple(node for node in nodes if node is not linear[0])
        live = self._weights[side].topology.live
        for node in others:
            alone = sum(name in live for name in node.inputs) == 1
            steps = node.op in STEPS and alone and not node.attributes.get("training_mode")
            if not (steps or node.op in KEEPS_NUMBERS or is_activation(node.op)):
                return None
        whole = next(
            (f for f in reversed(folds.chain(linear[0].name)) if constants.issuperset(f.names)),
            None,
        )
        if whole is None or not constants.issubset(whole.names):
            return None
        return FoldedLayer(linear=linear[0], folded=whole, others=others)

    def changes(self, reference: FoldedLayer, candidate: FoldedLayer) -> list[NodeChange] | None:
        """How the kernel and the bias differ; None where they cannot be compared."""
        kernels = self._kernels(reference, candidate)
        biases = self._biases(reference, candidate)
        if kernels is None or biases is None:
            return None
        return [each for each in (kernels, biases) if isinstance(each, NodeChange)]

    def orders_axes(self, candidate: FoldedLayer) -> bool:
        """Whether the kernel has axes of different sizes, so that no other order of them fits."""
        kernel = self._weights[1].stored.get(self._folds[1].linear[candidate.linear.name][0])
        sizes = () if kernel is None else kernel.shape
        return bool(sizes) and len(set(sizes)) == len(sizes)

    def _kernels(self, ref: FoldedLayer, cand: FoldedLayer) -> NodeChange | bool | None:
        """The change of the kernel, or True where it is equal in some arrangement of its axes."""
        weight = self._weights[1].stored.get(self._folds[1].linear[cand.linear.name][0])
        if weight is None or weight.grid is not None:
            return None
        best: tuple[Array, Array, Array] | None = None
        for expected, actual, source in self._kernel_pairs(ref, cand):
            elements = compare_elements(expected, actual, weight, source)
            if elements.equal:
                return True
            if best is None or elements.count < np.count_nonzero(best[2]):
                best = expected, actual, elements.beyond
        return None if best is None else _change(weight.name, ref.folded.names, *best)

    def _kernel_pairs(
        self, ref: FoldedLayer, cand: FoldedLayer
    ) -> Iterator[tuple[Array, Array, Source]]:
        ones, others = (
            list(folds.kernels(each.folded))
            for folds, each in zip(self._folds, (ref, cand), strict=True)
        )
        for one in ones:
            expected = np.asarray(one.kernel * one.scale, np.float64)
            for other in others:
                actual = np.asarray(other.kernel * other.scale, np.float64)
                bound = one.relative_bound + other.relative_bound
                source = Source(dtype="float32", relative_bound=bound)
                for moved in rearrangements(expected, actual.shape):
                    yield np.asarray(moved.array(expected)), actual, source

    def _biases(self, ref: FoldedLayer, cand: FoldedLayer) -> NodeChange | bool | None:
        expected, error = self._folds[0].bias(ref.folded)
        actual, own_error = self._folds[1].bias(cand.folded)
        try:
            expected, actual = np.broadcast_arrays(expected, actual)
        except ValueError:
            return None
        weight = self._bias_weight(cand)
        if weight is None:
            apart = np.broadcast_to(np.abs(expected - actual) > error + own_error, actual.shape)
            return (
                _change("bias", ref.folded.names, expected, actual, apart) if apart.any() else True
            )
        if weight.grid is not None or weight.size != actual.size:
            return None
        source = Source(
            dtype="float32", error_bound=np.broadcast_to(error + own_error, actual.shape)
        )
        elements = compare_elements(expected, actual, weight, source)
        if elements.equal:
            return True
        return _change(weight.name, ref.folded.names, expected, actual, elements.beyond)

    def _bias_weight(self, layer: FoldedLayer) -> StoredWeight | None:
        """The last constant of the candidate that the bias follows from."""
        stored = self._weights[1].stored
        kernel = self._folds[1].linear[layer.linear.name][0]
        return next(
            (stored[n] for n in reversed(layer.folded.names) if n in stored and n != kernel), None
        )


def _plain(linear: Node) -> bool:
    """Whether it multiplies by nothing but its kernel."""
    return all(linear.attributes.get(name, 1.0) == 1.0 for name in ("alpha", "beta"))


def _change(
    name: str, names: Sequence[str], expected: Array, actual: Array, beyond: Array
) -> NodeChange:
    place = tuple(np.argwhere(beyond)[0])
    found = difference(actual, expected)
    order = found.reordered or found.cause == "layout"
    largest = float(np.max(np.abs(expected - actual)))
    how = found.text if order else message("DIFF.largest", largest=largest)
    return NodeChange(
        kind=ChangeKind.CONSTANT,
        name=name,
        reference=f"{float(expected[place]):.6g}",
        candidate=f"{float(actual[place]):.6g}",
        detail=message(
            "DIFF.not_those_folded" if len(names) > 1 else "DIFF.not_those_of",
            how=how,
            count=np.count_nonzero(beyond),
            elements=counted(actual.size, "element"),
            names=", ".join(names),
            place=[int(each) for each in place],
        ),
    )
