"""A stored value is not the one the reference has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import BODY_CONSTANTS, FOLDED_WEIGHTS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.messages.phrases import differing_weight
from isomorph.core.ops import GATES
from isomorph.core.report import Fact
from isomorph.diagnose import node_constants
from isomorph.diagnose.constant_diff import ConstantDifference, difference
from isomorph.diagnose.folded_constants import folded, with_folded
from isomorph.diagnose.recurrent_weights import packed
from isomorph.diagnose.subgraph_weights import inside_bodies
from isomorph.match.value_match import rearrangements, weight_arrangements

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
_FLAGS = {"transA", "transB"}
"""Attributes by which a node reads a weight transposed; without them it reads it as stored."""


class Weight:
    """Weights that are wrong, permuted, stale, corrupted, rounded or dropped.

    Recognized by putting the reference's constant in the place of the candidate's: if the node
    is right then, nothing but the constant was wrong. What kind of difference it is follows
    from comparing the two.
    """

    name = "weight"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Put the reference's constants in, one after the other, then add a bias that is gone."""
        yield from self._replaced(context)
        yield from self._folded(context)
        yield from self._gates(context)
        yield from self._packed(context)
        yield from self._kept_inside(context)
        yield from self._dropped(context)
        strange = node_constants.weights(context, node_constants.unmatched(context))
        known = {name for name, value, whole in packed(context) if np.array_equal(value, whole)}
        strange = [name for name in strange if name not in known and not _blank(context, name)]
        if strange:
            yield Diagnosis(
                cause="weight",
                certainty=Certainty.POSSIBLE,
                summary=message("weight.unknown", constant=strange[0]),
                evidence={Fact.CONSTANT: strange[0]},
            )

    def _replaced(self, context: FaultContext) -> Iterator[Diagnosis]:
        here = context.candidate, context.nodes
        for cand in (*node_constants.floats(*here), *node_constants.masks(*here)):
            wrong = context.constant(context.candidate, cand)
            if wrong is None:
                continue
            choices = list(node_constants.constants_of_equal_size(context, cand))
            equal_stored = any(np.array_equal(right, wrong) for _, right in choices)
            if equal_stored and any(_FLAGS & node.attributes.keys() for node in context.nodes):
                continue  # stored as the reference stores it: how it is read is another matter
            for ref, right in choices:
                for value in weight_arrangements(right, wrong.shape):
                    if np.array_equal(value, wrong) or not context.restores({cand: value}):
                        continue
                    yield _replaced(context, cand, ref, wrong, value)
                    return

    def _folded(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Weights into which a scale or a norm was worked: do the same to the reference's."""
        right = next((each for each in _worked_in(context) if context.restores(each)), None)
        if right is None:
            return
        stored = {name: context.constant(context.candidate, name) for name in right}
        gaps = {
            name: float(np.linalg.norm(wrong - right[name]) / (np.linalg.norm(right[name]) or 1.0))
            for name, wrong in stored.items()
            if wrong is not None
        }
        # Folding rounds every constant a little; the one that is farthest off is the wrong one.
        farthest = max(gaps, key=lambda name: gaps[name], default=None)
        wrong = stored.get(farthest) if farthest is not None else None
        if farthest is not None and wrong is not None:
            yield _replaced(
                context,
                farthest,
                None,
                wrong,
                right[farthest],
                named=with_folded(context.counterparts),
            )

    def _gates(self, context: FaultContext) -> Iterator[Diagnosis]:
        """The blocks of a recurrent node's weights in another order."""
        blocks = GATES.get(context.node.op)
        if blocks is None:
            return
        everything = {
            name: value
            for name in node_constants.floats(context.candidate, context.nodes)
            if (value := context.constant(context.candidate, name)) is not None and value.ndim >= 2
        }
        kernels = {name: value for name, value in everything.items() if value.ndim == 3}
        orders = [order for order in permutations(range(blocks)) if list(order) != sorted(order)]
        for stored, order in product((everything, kernels), orders):
            given = {name: _reordered(value, blocks, order) for name, value in stored.items()}
            if not context.restores(given):
                continue
            names = ", ".join(stored)
            yield Diagnosis(
                cause="weight",
                certainty=Certainty.CONFIRMED,
                summary=message("weight.gates", constants=names),
                evidence={"gate_order": order},
                experiments=(experiment("weight.gates", node=context.node.name, order=order),),
                fix=message("FIX.gates", constants=names, order=order),
            )
            return

    def _packed(self, context: FaultContext) -> Iterator[Diagnosis]:
        """A recurrent node's weight, packed again from the reference's single matrices."""
        for name, wrong, right in packed(context):
            if not np.array_equal(wrong, right) and context.restores({name: right}):
                yield _replaced(context, name, None, wrong, right, named=message("weight.packed"))
                return

    def _kept_inside(self, context: FaultContext) -> Iterator[Diagnosis]:
        """A constant in the body of a loop or branch, where the reference's is handed in."""
        for patch in BODY_CONSTANTS.first(inside_bodies(context)):
            found = context.rehearse(patch)
            if found is not None and context.equals(found):
                yield Diagnosis(
                    cause="weight",
                    certainty=Certainty.CONFIRMED,
                    summary=message("weight.inside", change=patch.summary),
                    evidence={"change": patch.summary},
                    experiments=(experiment("weight.body", patch=patch.summary),),
                    fix=patch.summary,
                )
                return

    def _dropped(self, context: FaultContext) -> Iterator[Diagnosis]:
        """A bias of the reference that the candidate does not add."""
        digests = {each.value_digest for each in context.candidate.constants.values()}
        for name in node_constants.floats(context.reference, context.counterparts):
            bias = context.constant(context.reference, name)
            if bias is None or bias.ndim != 1 or not np.any(bias):
                continue
            for axis in range(context.wrong.ndim):
                if context.wrong.shape[axis] != bias.size:
                    continue
                shape = [bias.size if a == axis else 1 for a in range(context.wrong.ndim)]
                if context.equals(context.wrong + bias.reshape(shape)):
                    lost = context.reference.constants[name].value_digest not in digests
                    yield _dropped(context.node.name, name, lost=lost)
                    return


def _blank(context: FaultContext, name: str) -> bool:
    """Whether a constant is one number throughout, as what a loop or a layer begins with is."""
    value = context.constant(context.candidate, name)
    sizes = {
        int(np.prod(context.reference.constants[each].shape))
        for each in node_constants.floats(context.reference, context.counterparts)
    }
    return value is not None and value.size not in sizes and len(np.unique(value)) == 1


def _worked_in(context: FaultContext) -> Iterator[dict[str, Array]]:
    """For the constants of the candidate's one linear node, what they are with all worked in.

    Where sizes do not determine the channel axis, each axis is tried.
    """
    if sum(node.op in _LINEAR for node in context.nodes) != 1:
        return
    values = [value for _, value in folded(context)]
    choices: dict[str, list[Array]] = {}
    for name in node_constants.floats(context.candidate, context.nodes):
        shape = context.candidate.constants[name].shape
        fitting = [value for value in values if value.size == int(np.prod(shape))]
        placed = [moved.array(value) for value in fitting for moved in rearrangements(value, shape)]
        if placed:
            choices[name] = placed
    for picked in FOLDED_WEIGHTS.first(product(*choices.values())) if choices else ():
        yield dict(zip(choices, picked, strict=True))


def _replaced(
    context: FaultContext,
    cand: str,
    ref: str | None,
    wrong: Array,
    right: Array,
    *,
    named: str = "",
) -> Diagnosis:
    found = difference(wrong, right)
    kind, cause = found.text, found.cause
    order = _order_of_gates(context.node.op, wrong, right)
    if order is not None:
        kind, cause = message("weight.gate_order", order=order), "weight"
    text = message("weight.computed", constant=cand, computed=named, difference=kind)
    if ref is not None:
        text = differing_weight(cand, ref, kind)
    if order is None and _swaps_colors(context, cand, found):
        text = message("weight.colors", constant=cand)
    named = repr(ref) if ref is not None else named
    known = {"reference_constant": ref} if ref is not None else {}
    return Diagnosis(
        cause=cause,
        certainty=Certainty.CONFIRMED,
        summary=text,
        evidence={Fact.CONSTANT: cand, **known, "difference": kind},
        experiments=(experiment("weight.value", constant=cand, right=named),),
        fix=message("FIX.give", constant=cand, right=named),
        node=_reader(context, cand),
        about=found.about,
    )


def _swaps_colors(context: FaultContext, constant: str, found: ConstantDifference) -> bool:
    """Whether the first and the last of three input channels of a convolution are exchanged."""
    if found.swapped is None or found.swapped[1:] != (0, 2):
        return False
    reader = next((node for node in context.nodes if constant in node.inputs), None)
    if reader is None or not reader.op.startswith("Conv"):
        return False
    data = context.candidate.tensors.get(reader.inputs[0])
    sizes = data.shape if data is not None and data.shape is not None else ()
    if len(sizes) < 3 or sizes.count(3) != 1:
        return False
    # OIHW for channels first; OHWI or HWIO for channels last.
    last = len(sizes) - 1
    return found.swapped[0] in ({1} if sizes.index(3) == 1 else {last, last - 1})


def _order_of_gates(op: str, wrong: Array, right: Array) -> tuple[int, ...] | None:
    """Where whole blocks of a recurrent weight stand in another order: which stands where."""
    blocks = GATES.get(op, 0)
    if not blocks or wrong.ndim < 2 or wrong.shape != right.shape or wrong.shape[1] % blocks:
        return None
    for order in islice(permutations(range(blocks)), 1, None):
        if np.array_equal(_reordered(right, blocks, order), wrong):
            return order
    return None


def _reader(context: FaultContext, constant: str) -> str | None:
    """The first node here that reads a constant.

    Others may read it, too: those of each step of a recurrent layer that was written out.
    """
    readers = (
        n.name for n in context.nodes if constant in node_constants.names(context.candidate, [n])
    )
    return next(readers, None)


def _reordered(value: Array, blocks: int, order: tuple[int, ...]) -> Array:
    """Blocks of the gate axis in another order; a bias holds two sets of them."""
    sets = 2 if value.ndim == 2 else 1
    axis = 1
    if value.shape[axis] % (blocks * sets):
        return value
    parts = np.split(value, blocks * sets, axis=axis)
    picked = [parts[s * blocks + each] for s in range(sets) for each in order]
    return np.concatenate(picked, axis=axis)


def _dropped(node: str, bias: str, *, lost: bool) -> Diagnosis:
    return Diagnosis(
        cause="weight",
        certainty=Certainty.CONFIRMED,
        summary=message("weight.bias_dropped" if lost else "weight.bias_unread", bias=bias),
        evidence={"reference_constant": bias, "difference": "dropped"},
        experiments=(experiment("weight.bias", node=node, bias=bias),),
        fix=message("FIX.add_bias", bias=bias),
    )
