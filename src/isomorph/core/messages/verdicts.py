"""Reasons of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

VERDICTS: Mapping[str, str] = {
    # Equivalent
    "EQUIVALENT.same": "the same function, within rounding",
    "EQUIVALENT.each_rounds": "the same function; each run is within its own rounding",
    "EQUIVALENT.lower_precision": "the same within rounding, although its precision is lower",
    "EQUIVALENT.stated_budget": "the runs agree within the stated budget {budget:g}",
    "EQUIVALENT.recording": "the recorded values are reproduced within rounding",
    "EQUIVALENT.one_model": "the run computes what the graph states, within rounding",
    "EQUIVALENT.only_given": "the outputs agree within rounding; other inputs were not tried",
    "EQUIVALENT.recorded_bits": "the recorded values are the same to the last bit",
    "EQUIVALENT.bits": "the same to the last bit, in the runs and in float64",
    "EQUIVALENT.absent": "absent or empty on both sides",
    # Degraded
    "DEGRADED.expected_loss": "within the expected loss of its lower precision",
    "DEGRADED.underflow": "within the expected loss of its lower precision, with constants that "
    "underflow",
    "DEGRADED.weights": "loses what the rounding of its weights loses, and nothing else",
    "DEGRADED.few_draws": "loses a little more than was expected of its lower precision, and no "
    "node loses more than its own precision explains",
    "DEGRADED.run_type": "the same graph, within the expected loss of a run in {dtype}",
    "DEGRADED.run_quantizes": "the same graph, within the expected loss of activations that the "
    "run quantizes",
    # Divergent
    "DIVERGENT.graphs": "the two graphs compute different functions",
    "DIVERGENT.stated_budget": "the runs differ by more than the stated budget {budget:g}",
    "DIVERGENT.run_off": "the run differs from its own graph by more than rounding explains",
    "DIVERGENT.recording": "the graph does not compute the recorded values",
    "DIVERGENT.beyond_loss": "the candidate loses more than its lower precision explains",
    "DIVERGENT.run_off_lossy": "the run differs from its own graph by more than its precision "
    "explains",
    "DIVERGENT.candidate_run": "the graph is right, but the candidate's run differs from it by "
    "more than {explained} explains",
    "DIVERGENT.optimizer": "the graph is wrong, and an optimizer of the runtime hides it",
    "DIVERGENT.node_beyond_loss": "the outputs are within the expected loss, but node {node!r} "
    "loses more than its own precision explains",
    "DIVERGENT.infinite": "constant {constant!r} underflows, and values become infinite",
    "DIVERGENT.output_missing": "the candidate lacks output {output!r}",
    "DIVERGENT.sizes": "wrong at some sizes of its dynamic axes",
    "DIVERGENT.random": "the {role} draws random numbers",
    "DIVERGENT.other_text": "on its own caches the candidate decodes another text",
    "DIVERGENT.integers": "{dtype} cannot hold integers of the reference: {right} is {now:.0f}",
    "DIVERGENT.same_weights": "the outputs are within the expected loss, but the graphs differ "
    "with the same weights",
    "DIVERGENT.same_weights_node": "the outputs are within the expected loss, but the graphs "
    "differ with the same weights: {node!r}",
    "DIVERGENT.output_order": "the outputs are in another order",
    "DIVERGENT.unshown_equal": "the same on the {where}, but {differs}",
    "DIVERGENT.unshown_loss": "within the expected loss on the {where}, but {differs}",
    "DIVERGENT.on_other_inputs": "node {node!r} differs on other inputs",
    "DIVERGENT.on_inputs": "they differ on other inputs: {inputs}",
    "DIVERGENT.at_other_sizes": "wrong at other sizes of its dynamic axes ({sizes})",
    "DIVERGENT.one_side": "only one side has this output",
    "DIVERGENT.beyond_budget": "output {output!r} differs by more than its budget",
    "DIVERGENT.no_such_output": "the candidate has no such output",
    "DIVERGENT.other_shape": "the shapes differ: {reference} in the reference, {candidate} in the "
    "candidate",
    # Unknown
    "UNKNOWN.nothing_to_judge": "a run or its float64 evaluation is missing",
    "UNKNOWN.no_budget": "no rounding budget could be derived",
    "UNKNOWN.constants_dominate": "rounding the constants once more changes this output by more "
    "than its own size",
    "UNKNOWN.run_missing": "a run is missing",
    "UNKNOWN.recording": "a run or its rounding budget is missing",
    "UNKNOWN.no_loss_budget": "the expected loss of the lower precision could not be derived",
    "UNKNOWN.loss_in_doubt": "the loss is beyond what the lower precision explains, by less than "
    "draws of noise can tell; a check without --quick judges it by its nodes",
    "UNKNOWN.rounding_dominates": "rounding may change this output by more than its own size",
    "UNKNOWN.reference_off": "the reference's own run differs from its graph by more than "
    "rounding explains",
    "UNKNOWN.oracle": "the runs agree, but a model's float64 evaluation disagrees with its own run",
    "UNKNOWN.fallback": "the {role} ran in {used}, not in {asked}",
    "UNKNOWN.pairing": "no single pairing of the outputs fits every input",
    "UNKNOWN.not_run": "{verdict} in translation, and not run: {why} (--translation-only asks "
    "about the graphs alone)",
    "UNKNOWN.failed": "{role}: {what}",
    "UNKNOWN.failed_at": "{text}, at node {node!r}",
    "UNKNOWN.interrupted": "interrupted before anything was decided",
    "UNKNOWN.interrupted_loading": "interrupted while the models were loaded",
    "UNKNOWN.no_values": "no value was compared",
    "UNKNOWN.no_oracle": "the recorded values differ, and the traces have no float64 evaluation "
    "that tells how much rounding explains",
    "UNKNOWN.not_computed": "it could not be computed",
    "UNKNOWN.not_compared": "output {output!r} was not compared: {why}",
    "UNKNOWN.part_of_set": "only {parts} were compared",
    # Any verdict
    "VERDICT.in_float64": "{reason}, in float64; not run: {why}",
    "VERDICT.interrupted": "interrupted; until then: {reason}",
}
