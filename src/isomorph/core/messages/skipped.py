"""What was not done and why; each stands behind ``skipped`` as ``what: why``.

Limits are not among them: a limit states beside its number what is left out (``core/limits.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

SKIPPED: Mapping[str, str] = {
    # Parts of a check
    "SKIPPED.check.what": "the whole check",
    "SKIPPED.check.why": "it was interrupted",
    "SKIPPED.rest.what": "the rest of the check",
    "SKIPPED.rest.why": "it was interrupted",
    "SKIPPED.quick.what": "the search for faulty nodes, for weights and attributes that no input "
    "reaches, and for other inputs and sizes that differ",
    "SKIPPED.quick.why": "--quick compares the outputs only",
    "SKIPPED.inputs.what": "inputs {origin}",
    "SKIPPED.after_death.why": "the runtime ended with {code} on the inputs before, so nothing "
    "more was run",
    "SKIPPED.run.what": "{role}: {phase}",
    "SKIPPED.localization.what": "the search for the faulty node",
    "SKIPPED.outputs_only.why": "the session returns no tensors except its outputs",
    "SKIPPED.unexplained.why": "the nodes found do not explain outputs {outputs}",
    "SKIPPED.unexplained_one.why": "the nodes found do not explain output {outputs}",
    "SKIPPED.words.why": "strings and lists cannot be compared inside a model: {outputs}",
    "SKIPPED.loss.what": "the search for nodes that lose too much",
    "SKIPPED.overflow.what": "the search for overflow in float16",
    "SKIPPED.proof.what": "the proof",
    "SKIPPED.alignment.what": "the alignment",
    "SKIPPED.test_set.what": "the rest of the test set",
    "SKIPPED.test_set.why": "a runtime failed on sample {sample!r}: {error}",
    "SKIPPED.rows.what": "the last {count} rows of {name}",
    "SKIPPED.rows.why": "they do not fill a batch",
    "SKIPPED.divergent_sample.why": "the models already differ on sample {sample}",
    "SKIPPED.pairing.why": "no one pairing of the outputs fits every sample",
    "SKIPPED.sizes.what": "inputs with {sizes}",
    "SKIPPED.usual_sizes.why": "the models already differ at the usual sizes",
    "SKIPPED.refused_sizes.why": "the reference does not accept these sizes: {error}",
    # Traces
    "SKIPPED.unreached.what": "weights and attributes that the recorded input does not reach",
    "SKIPPED.unreached.why": "a trace holds the tensors of one run: neither weights nor a model to "
    "run",
    "SKIPPED.oracle.what": "the float64 evaluation of the {role}",
    "SKIPPED.oracle.why": "its trace was recorded with --no-oracle, so its outputs are compared "
    "with the other side's",
    "SKIPPED.oracles.what": "both float64 evaluations",
    "SKIPPED.oracles.why": "both traces were recorded with --no-oracle, so how much rounding "
    "explains is unknown",
    "SKIPPED.first_difference.what": "the search for the first difference",
    # Differences that no input shows
    "SKIPPED.constants.what": "the comparison of constants",
    "SKIPPED.constants_differ.what": "constants that differ",
    "SKIPPED.constants_budget.why": "they do not count here: the outputs are within the stated "
    "budget on the given inputs and on the others that were tried, none of them larger than the "
    "given ones",
    "SKIPPED.constant_in_body.why": "constant {constant!r} in a body differs from the reference's "
    "{right!r}; none of {tried} inputs tried shows it, and by how much it differs was not compared",
    "SKIPPED.constant_limit.why": "constant {constant!r} is a limit and differs from the "
    "reference's {right!r}; none of {tried} inputs tried shows it",
    "SKIPPED.constants_certain.why": "{count} constants differ from the reference's in a few "
    "elements, and only the first {most} were examined: they count where no input reaches them or "
    "one shows a difference",
    "SKIPPED.constants_unknown.why": "{count} constants of few elements have no equal in the "
    "reference, and only the first {most} were examined: they count where no input reaches them "
    "or one shows a difference",
    "SKIPPED.attributes.what": "attributes that differ",
    "SKIPPED.attributes_tried.why": "{differences}; none of {tried} inputs tried shows it",
    "SKIPPED.attributes_untried.why": "{differences}; no input was tried",
    "SKIPPED.attributes_more.why": "{differences}; and {count} more",
    "SKIPPED.unread.what": "inputs that one model ignores",
    "SKIPPED.unread_tried.why": "{difference}; none of {tried} values tried shows it",
    "SKIPPED.unread_untried.why": "{difference}; no other value was tried",
    "SKIPPED.decisions.what": "decisions on other values",
    "SKIPPED.decisions.why": "node {node!r} ({op}) has the results of the reference's {right!r}, "
    "but from other values; none of {tried} generated inputs shows a difference",
    "SKIPPED.other_inputs.what": "the search for other inputs that differ",
    "SKIPPED.probes.what": "single nodes on other values",
    "SKIPPED.probes_lossy.why": "a candidate of lower precision differs on other values by design",
    "SKIPPED.node_probes.what": "{count} nodes on other values",
    "SKIPPED.node_probes.why": "at most {nodes} nodes of a side, and {values:,} values, are tried",
    "SKIPPED.trace_probes.why": "a trace cannot be given other values",
    # Tables
    "SKIPPED.profile.what": "error profile",
    "SKIPPED.profile_run.what": "error profile of the {role}'s run",
    "SKIPPED.profile_deeper.what": "error profile inside branches and loops that lie deeper",
    "SKIPPED.profile_more.what": "error profile inside more branches and loops",
    "SKIPPED.profile_more.why": "at most {most} nodes with bodies are entered",
    "SKIPPED.profile_inside.what": "error profile inside {node!r}",
    "SKIPPED.quantization.what": "the quantization table",
    "SKIPPED.quantization.why": "the candidate has {count} quantized tensors; pass --quantization "
    "to measure them all",
    "SKIPPED.quantization_of.what": "the quantization table: {part}",
    "SKIPPED.quantization_at.what": "the quantization at {tensor!r}",
    # convert and lint
    "SKIPPED.route.what": "{route}",
    "SKIPPED.route.why": "not installed; {missing}",
    "SKIPPED.rule.what": "rule {code}",
    "SKIPPED.rule.why": "--ignore leaves it out",
    "SKIPPED.abilities.what": "what {name} can do",
    "SKIPPED.approximations.what": "what {name} approximates",
    "SKIPPED.approximations.why": "{versions}",
    "SKIPPED.version.why": "measured with {package} {tested}, and {installed} is installed",
    "SKIPPED.no_version.why": "measured with {package} {tested}, which is not installed",
    "SKIPPED.operators.what": "operators that converters lack",
    "SKIPPED.operators.why": "Python code decides on values, so these are the nodes of one run, "
    "and no exporter meets them",
}
