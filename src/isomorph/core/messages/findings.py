"""What findings state, by code."""

from __future__ import annotations

from collections.abc import Mapping

FINDINGS: Mapping[str, str] = {
    # A node that is wrong
    "GUILTY_NODE.differs": "its inputs match; its output differs by {error}",
    "GUILTY_NODE.run_differs": "its inputs match; its output differs from its float64 value by "
    "{error}",
    "GUILTY_NODE.nonzero": "its inputs match; its output is up to {error:.2g} where the "
    "reference's is zero",
    "GUILTY_NODE.permuted": "its inputs match; its output has the reference's values in another "
    "order",
    "GUILTY_NODE.resized": "its inputs match; its output has the shape {made}, the reference's "
    "{expected}",
    "GUILTY_NODE.weight_alone": "this weight alone changes its output by {error}",
    "GUILTY_NODE.group": "{place} with {others} before it",
    "GUILTY_NODE.member": "{place} among the {count} nodes up to {node!r}",
    "GUILTY_NODE.large_group": "somewhere in the {count} nodes up to {node!r}, which share no "
    "tensor with the reference",
    "GUILTY_NODE.counterpart": " (reference: {node})",
    "GUILTY_NODE.others": "the same holds for {count}: {named}",
    "GUILTY_NODE.inside": "{place}, inside {outer!r}, round {round}",
    "REFERENCE_NODE.run": "in the reference's own run, {text}",
    "RUN_AS_A_WHOLE.run": "the run differs from float64 by more than rounding explains, and no "
    "single node does",
    "BELOW_ROUNDING.node": "the outputs differ by less than rounding shows on the inputs that "
    "were run",
    "BELOW_ROUNDING.output": "output {output!r}: the graphs differ by more than rounding the "
    "constants again explains, but by less than a run shows",
    "BELOW_ROUNDING.unlike": "{text}; attributes or constants differ from the reference's at: "
    "{names}",
    "FIRST_APART.words": "{place} makes output {output!r}, which differs although the node's "
    "inputs match; strings and lists are compared, but not substituted, so this is not proven",
    "FIRST_APART.off": "the run differs from its float64 value by {error}",
    "FIRST_APART.no_match": "no tensor of the reference holds its values",
    "FIRST_APART.trace": "{place} is the first to differ: its inputs match, and {why}; a trace "
    "cannot be run again, so this is not proven",
    "FIRST_DIFFERENCE.bits": "tensor {tensor!r} of {place} is the first of equal name that "
    "differs in any bit",
    "OTHER_CHECKPOINT.weights": "another checkpoint: {count} of {total} weights differ, "
    "typically by {typical}",
    "OTHER_CHECKPOINT.fix": "export the candidate again from the weights of the reference",
    "DIFFERENT_NETWORKS.sizes": "two different networks, not one and its conversion: {details}",
    "DIFFERENT_NETWORKS.only": "where one has {reference}, the other has {candidate}",
    "DIFFERENT_NETWORKS.weights": "no weight has a counterpart ({ref} of the reference with "
    "{ref_numbers} numbers, {cand} of the candidate with {cand_numbers})",
    # Outputs
    "OUTPUT.is": "output {output!r}: {reason}",
    "SHAPE_MISMATCH.values": "output {output!r} has another shape, and no arrangement of its axes "
    "gives the reference's values; it was measured with {arrangement}",
    "BOTH_RUNS_OFF.output": "output {output!r}: the runs agree, and both differ from float64 by "
    "more than rounding explains",
    "SIGNED_ZERO.output": "output {output!r}: {count} zeros have the other sign",
    "OUTPUT_ORDER.values": "the outputs are in another order: {pairs}",
    "OUTPUT_ORDER.names": "the outputs have the same names in another order: {now} instead of "
    "{expected}",
    "OUTPUT_SHAPE.values": "output {output!r} has the reference's values in another shape: "
    "{arrangement}",
    "OUTPUT_NOT_FINITE.set": "output {output!r} has NaN or an infinity in {count} of {samples} "
    "samples, first {first!r}; on one side only in {mismatched}",
    "INPUT_NOT_FINITE.set": "{count} of {samples} samples feed NaN or an infinity, first {first!r}",
    # The interface
    "INTERFACE.renamed": "{kind} {reference!r} is named {candidate!r} in the candidate (paired by "
    "{how})",
    "INTERFACE.renamed_in_order": "input {reference!r} is named {candidate!r} in the candidate "
    "(paired by its place: on a generated sample the outputs are alike in this pairing alone)",
    "INTERFACE.type": "{kind} {name!r} was {was} and is {now}",
    "INTERFACE.no_candidate": "the candidate has no counterpart of {kind} {name!r}",
    "INTERFACE.no_reference": "the reference has no counterpart of {kind} {name!r}",
    "INTERFACE.fixed_axes": "input {name!r}: {axes}",
    "INTERFACE.fixed_axis": "axis {place} was free and is {now}",
    "INTERFACE.metadata": "the candidate has lost metadata of the reference: {keys}",
    "INTERFACE.grid": "{kind} {name!r} was {was} and {verb} {now}: it is {treatment}, {parameters}",
    "INPUT_CLIPPED.values": "input {input!r}: {share:.1%} of the values ({origin}) lie beyond "
    "{low:.4g} … {high:.4g}, where its integers end",
    "INPUT_LAYOUT.moved": "input {input!r} takes its axes in another arrangement: {arrangement} "
    "({how})",
    # Runs
    "RUN.failed": "{role}: {what}",
    "RUN.failed_why": "{role}: {what} ({why})",
    "RUN.tried": "tried {tried}; state the size with {flags}, or give inputs with --inputs",
    "MEMORY_FORECAST.tensor": "{role}: tensor {tensor!r} alone takes {size}, and a worker may hold "
    "{limit}",
    "PROVIDER_FALLBACK.used": "{role}: the provider asked for is {asked}, the one in use is {used}",
    "CAPTURE_CHANGED.right": "capturing every tensor changed output {outputs} by {size:.2g}, and "
    "the captured run is right: the run that was examined is not the run that is deployed",
    "CAPTURE_CHANGED.wrong": "capturing every tensor changed output {outputs} by {size:.2g}, and "
    "neither run is right: the run that was examined is not the run that is deployed",
    "NOT_FINITE.first": "{kinds} first appears at {place}; its float64 value is finite there",
    "NOT_FINITE.narrow": "{op} {node!r} makes numbers up to {largest:.3g}, and float16 ends at "
    "{limit:.0f}: they become infinite. In float64 the graphs agree",
    "NOT_FINITE_AS_MEANT.first": "{kinds} first appears at {place}, in its float64 value as well",
    "NOT_FINITE_AS_MEANT.output": "output {output!r} is NaN or infinite everywhere, in its float64 "
    "value as well",
    "NOT_FINITE_AS_MEANT.inputs": "give inputs on which it stays finite: isomorph check {models} "
    "--inputs FILE.npz",
    "PRECISION_LOST.first": "{place} is the first that differs from float64 by more than rounding "
    "explains",
    "NONDETERMINISM.runs": "two runs of the {role} on the same inputs differ at {outputs}",
    "NONDETERMINISM.node": "two runs of the {role} on the same inputs differ at {outputs} (random "
    "node: {node})",
    "NONDETERMINISM.bits": "two runs of the {role} on the same inputs differ in some bits at "
    "{outputs}; rounding explains it",
    "OPEN_DECISION.branch": "{role}: node {node!r} decides on {condition!r} by less than rounding; "
    "taken as in the run ({way}), and either way is right",
    "OVERFLOW_HIDDEN.value": "{place} makes values up to {largest:.3g}, and float16 ends at "
    "{limit:.0f}: this run was wider and hid it; computed as declared, they become infinite "
    "and change the outputs",
    "ACTIVATIONS_QUANTIZED.fused": "the runtime fuses {products} with weights in blocks and "
    "quantizes their activations to 8 bits, which no tensor shows; at accuracy level 0 the run is "
    "within rounding",
    "ACTIVATIONS_QUANTIZED.candidate": "{text}; the reference's run keeps them in float",
    "ACTIVATIONS_QUANTIZED.reference": "of the reference, {text}; the candidate's run keeps them "
    "in float, and where the runs differ, it is the closer one",
    "ACTIVATIONS_QUANTIZED.level": " because {level} is 4",
    "ACTIVATIONS_QUANTIZED.nodes": "{count} nodes ({kinds}), {first!r} first, quantize their "
    "activations to 8 bits when they run{why}, which no tensor shows",
    "ACTIVATIONS_QUANTIZED.node": "{place} quantizes its activations to 8 bits when it runs{why}, "
    "which no tensor shows",
    "PROOF_CONTRADICTED.output": "output {output!r} is proven equal on all inputs of these "
    "shapes, and the float64 evaluations of both graphs differ on one: a defect of isomorph, "
    "in the proof or in what was measured",
    "CONSTANT_UNDERFLOW.infinite": "constant {constant!r} is too small for {dtype}: {stored}, "
    "which makes outputs infinite",
    "CONSTANT_UNDERFLOW.moves": "constant {constant!r} is too small for {dtype}: {stored}, which "
    "changes outputs by {size}",
    "SHAPE_DEPENDENT.sizes": "the models agree at {right}, and not at {wrong}: {reason}",
    "SHAPE_DEPENDENT.refused": "the candidate does not run: {why}",
    "SHAPE_DEPENDENT.output": "output {output!r} differs",
    # Differences that the given inputs do not show
    "CONSTANT_DIFFERS.constant": "weight {constant!r} of {place} differs from the reference's"
    "{reference}{details}",
    "CONSTANT_DIFFERS.details": " in {text}: {at} is {wrong:.6g} instead of {right:.6g}",
    "CONSTANT_DIFFERS.shown": "{text}. Output {output!r} differs on {inputs}",
    "CONSTANT_DIFFERS.not_reached": "{text}. None of {tried} inputs tried shows it",
    "CONSTANT_DIFFERS.given": "{text}. In float64 its effect shows on these inputs",
    "CONSTANT_DIFFERS.others": "{text}. In float64 its effect shows on other inputs",
    "CONSTANT_DIFFERS.verdict": "weight {constant!r} differs ({text})",
    "LATENT.probe": "{place} does what the reference's {right} does on the given inputs, but not "
    "on values {kind}{example}",
    "LATENT.made_of": " (of {given:.4g} it makes {now:.4g} instead of {right:.4g})",
    "LATENT.makes": " (it gives {now:.4g} instead of {right:.4g})",
    "LATENT.reached": "{text}. Output {output!r} differs on {inputs}",
    "LATENT.reached_somewhere": "{text}. It shows on {inputs}",
    "LATENT.not_reached": "{text}. Neither the given inputs nor {tried} others show it",
    "LATENT.attribute": "attribute {name} of {place}{where} differs from the reference's {right!r} "
    "({values})",
    "LATENT.in_body": " in a body of {node!r}",
    "LATENT.decides": "{place} of the {side} decides on values, and no tensor of the other model "
    "holds the same decision",
    "LATENT.decides_alike": "{place} has the results of the reference's {right!r} on the given "
    "inputs, but from other values",
    "LATENT.decides_alike_node": "{place} has the results of the reference's {right!r} on the "
    "given inputs, but from other values, which node {node!r} computes",
    "LATENT.caused": "{text}. There, {cause}",
    "LATENT.other_inputs": "node {node!r} differs from the reference on other inputs; the given "
    "ones do not show it",
    "LATENT.unread": "{text}, where {place} of the {side} computes with it. Output {output!r} "
    "differs on {inputs}",
    "LATENT.read_by": "input {input!r} is read by the {one} and not by the {other}",
    # Decoding
    "OWN_CACHE.failed": "the candidate does not decode on its own caches: {why}",
    "OWN_CACHE.token": "on its own caches the candidate decodes token {now} instead of {right} as "
    "number {place}, although every step is right on the caches of the reference",
    # Repair
    "KEPT_IN_FLOAT.node": "with {node!r}{beside} in float the relative error is {after}, not "
    "{before}",
}
