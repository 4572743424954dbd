"""Differences that the given inputs hide: other inputs are tried, until the outputs differ on one.

Inputs that bring zeros to the last nodes of two models make their outputs agree, whatever else the
nodes compute: zero divided by anything is zero. A limit or a remainder may be out of their reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.core.search_limits import OTHER_INPUTS
from isomorph.localize.input_search import (
    DifferingInput,
    Trial,
    first_that_differs,
    other_inputs,
)
from isomorph.localize.locate import locate
from isomorph.localize.output_effect import numeric
from isomorph.localize.probe_search import Probed, with_input
from isomorph.match.attributes import digest
from isomorph.match.topology import Topology
from isomorph.measure.precision import lower_precision

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.localize.locate import Located
    from isomorph.localize.weight_effect import ConstantExperiment
    from isomorph.measure.evaluated_model import EvaluatedModel


def compared_on_other_inputs(experiment: ConstantExperiment) -> Probed:
    """Try more inputs: all where an output is one repeated number, else as many as are cheap."""
    sides, outputs, terms = experiment.sides, experiment.outputs, experiment.terms
    # What lower precision loses on other inputs is judged where they are given.
    if lower_precision(*(side.model.graph for side in sides)):
        return Probed()
    # Two models of one function may break a tie differently.
    trials = other_inputs(sides[0], terms, ties=False)
    try:
        if not _uniform(sides[0], outputs):
            trials = _affordable(trials, OTHER_INPUTS.most // max(map(_numbers, sides)))
        shown = first_that_differs(
            trials, sides, outputs, terms, experiment.carry, inside_domain=True
        )
    except IsomorphError as error:
        return Probed(skipped=(not_done("other_inputs", error.sentence),))
    if shown is None:
        return Probed()
    located = _located(shown)
    output = str(shown.wrong[0].candidate_output)
    found = with_input(_finding(shown, located), shown.trial, output)
    return Probed(
        findings=(found,),
        differs=message("DIVERGENT.on_other_inputs", node=found.node),
        located=None if located is None else (*shown.sides, located),
    )


def _affordable(trials: Iterator[Trial], count: int) -> Iterator[Trial]:
    """Yield so many inputs; that there are more is noted."""
    if count == 0:  # to make them costs as well
        OTHER_INPUTS.reached()
        return
    yield from islice(trials, count)
    if next(trials, None) is not None:
        OTHER_INPUTS.reached()


def _numbers(side: EvaluatedModel) -> int:
    """How many numbers one run reads or computes."""
    graph = side.model.graph
    constants = sum(math.prod(each.shape) for each in graph.constants.values())
    computed = sum(
        math.prod(size for size in spec.shape or () if isinstance(size, int))
        for spec in graph.tensors.values()
    )
    return max(1, constants + computed)


def _uniform(reference: EvaluatedModel, outputs: Sequence[Binding]) -> bool:
    """Whether some output of several numbers holds one number only."""
    values = numeric(reference.oracle_outputs())
    return any(
        pair.reference in values and _repeated(np.asarray(values[pair.reference]))
        for pair in outputs
    )


def _repeated(values: np.ndarray) -> bool:
    return values.size > 1 and values.dtype.kind == "f" and bool(np.all(values == values.flat[0]))


def _located(shown: DifferingInput) -> Located | None:
    """The faults on the input that was found; None where it has none that can be searched for."""
    pairs = [
        (each.reference_output, each.candidate_output)
        for each in shown.wrong
        if each.reference_output and each.candidate_output
    ]
    try:
        found = locate(*shown.sides, pairs)
    except (IsomorphError, ValueError):
        return None
    return found if found.chain.faults else None


def _finding(shown: DifferingInput, located: Located | None) -> Finding:
    """Name the node at which the models differ on the input that was found."""
    wrong = shown.wrong[0]
    faults = located.chain.faults if located is not None else ()
    graph, output = shown.sides[1].model.graph, str(wrong.candidate_output)
    made_by = Topology(graph).maker.get(output)
    named = faults[0].node if faults else (made_by.name if made_by is not None else output)
    return Finding(
        rank=0,
        code="LATENT",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.LATENT,
        summary=message("LATENT.other_inputs", node=named),
        node=named,
        nodes=faults[0].nodes if faults else (named,),
        tensors=(faults[0].tensor,) if faults else (output,),
        reference_nodes=faults[0].reference_nodes if faults else (),
        source=made_by.source if made_by is not None else None,
        evidence={Fact.NUMBERS: digest(str(wrong.reference_output), output)},
    )
