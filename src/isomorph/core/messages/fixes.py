"""What to do about a finding, by its cause or its code; each stands behind ``fix:``."""

from __future__ import annotations

from collections.abc import Mapping

FIXES: Mapping[str, str] = {
    "FIX.then_see": "{fix}; to see it, pass the JSON report of this check as --inputs",
    "FIX.see": "to see it, pass the JSON report of this check as --inputs",
    # attribute
    "FIX.set": "set {name} to {value}",
    "FIX.give_attribute": "give {name} of {node!r} the value of the reference",
    "FIX.transpose_axis": "transpose axis {axis} to the end before {op}, and back after it",
    "FIX.flatten_axes": "flatten the axes from {axis} on before {op}",
    "FIX.formula": "use {formula}",
    # control_flow
    "FIX.compare_body": "compare its body with the reference's",
    "FIX.condition": "use {op}, or invert the condition",
    "FIX.negate": "invert the condition",
    "FIX.branches_or_condition": "swap the branches, or do not invert the condition",
    "FIX.branches": "swap the branches",
    "FIX.trip_count": "compute the trip count from the input instead of storing it",
    "FIX.keep_decision": "export the decision itself (torch.cond, a scripted function) instead of "
    "tracing through it",
    # dtype
    "FIX.compute_type": "compute it in the reference's type",
    "FIX.keep_type": "keep the reference's type",
    "FIX.round_alike": "compute in the reference's type, and round as it does",
    # fusion, kernel, precision, nondeterminism: the run
    "FIX.run_with": "run with {flags}",
    "FIX.run_with_or_budget": "run with {flags}, or accept the loss with --budget",
    "FIX.seven_bits": "quantize the weights again to 7 bits (reduce_range=True) or to uint8, or "
    "run on a CPU with VNNI",
    "FIX.other_kernel": "use another runtime or version for this operator, or build it from other "
    "operators",
    "FIX.accuracy_level": "--set candidate.{level}=0; in a program, the session's "
    "session.qdq_matmulnbits_accuracy_level",
    "FIX.accuracy_attribute": "set {level} to 0 where an activation has outliers; a converter that "
    "writes 4 by default has an option for it",
    "FIX.evaluation_mode": "export the model in evaluation mode",
    "FIX.one_thread": "run with --set threads=1",
    "FIX.one_thread_or_kernels": "run with --set threads=1, or ask the runtime for deterministic "
    "kernels",
    "FIX.same_bits": "run with one thread where every bit must be the same",
    "FIX.untouched_run": "trust the untouched run; fetch few tensors at a time, or switch "
    "optimizers off",
    "FIX.candidate_alone": "isomorph check CANDIDATE names the node where its run leaves float64",
    "FIX.memory": "raise the limit with --memory, or bind the dynamic axes to smaller sizes with "
    "--dim",
    "FIX.clear_decision": "to compare its other branch, give inputs on which the decision is clear",
    # interface
    "FIX.order_outputs": "put the outputs back in order, or bind them by name with --bind-output",
    "FIX.order_or_flags": "put them back in order, or accept it with {flags}",
    "FIX.bind_inputs": "swap them, or bind them with --bind-input {one}={other}",
    "FIX.input_type": "declare the input as {dtype}",
    "FIX.connect_input": "connect input {input!r}",
    "FIX.metadata": "copy the metadata over, if someone reads it",
    "FIX.free_axis": "declare it dynamic; isomorph fix does so where the graph allows it",
    "FIX.free_axis_by_hand": "declare it dynamic in the conversion; this format cannot be patched "
    "to do so",
    # layout
    "FIX.axes": "restore the reference's order of axes or operands",
    "FIX.outputs": "swap outputs {one} and {other} of {node!r}",
    "FIX.read": "let input {place} read {tensor!r}",
    "FIX.operands": "put the {parts} in the order {names}",
    # missing_op
    "FIX.hidden_rows": (
        "set the rows that see no key to 0 after the softmax, or ignore them: they are mostly "
        "padding"
    ),
    "FIX.hidden_rows_zero": "ignore the rows that see no key: they are mostly padding",
    "FIX.mask": "add the mask before the softmax",
    "FIX.connect": "connect the missing input",
    "FIX.replace": "replace {op} with {right}",
    "FIX.put_back": "put {op} back",
    "FIX.read_also": "let it read {tensors}",
    "FIX.leave_out": "leave out {ops}",
    # precision
    "FIX.float32_tensor": "keep this tensor in float32",
    "FIX.float32_node": "keep the node in float32; isomorph convert --precision float16 finds the "
    "nodes that have to be",
    "FIX.float32_constant": "keep {constant!r} and the nodes that read it in float32, or train "
    "with a constant that {dtype} can hold",
    # quantization
    "FIX.bias_scale": "give the bias the product of the scales of input and weight",
    "FIX.calibrate": "calibrate the quantizer again on the values it sees",
    "FIX.calibrate_finite": "leave the tensor in float, or calibrate the quantizer on its finite "
    "values",
    "FIX.calibrate_inputs": "give inputs like those it was calibrated with, or calibrate it for "
    "these",
    "FIX.quantize_again": "quantize the reference's weight again",
    "FIX.zero_point": "restore the zero point",
    "FIX.scale": "restore the scale",
    "FIX.ties": "round halves {way}, or choose a scale on whose halves no value lies",
    "FIX.packing": "pack the first number into the lowest bits of each byte",
    "FIX.group_scales": "store the scales row by row: those of all groups of a row beside each "
    "other",
    "FIX.other_axis": "let the scales lie along the axis that they were computed for",
    "FIX.highest_bit": "invert the highest bit of every number",
    "FIX.own_scales": "compute the scales of these blocks from the numbers of their own",
    "FIX.add_to_zero_points": "add {shift} to the zero points",
    "FIX.multiply_scales": "multiply the scales by {factor:.6g}",
    # shape
    "FIX.dynamic_axis": "export with this axis marked dynamic, or compute the size from the "
    "input's shape",
    "FIX.read_sizes": "let {op} read {tensor} as its sizes",
    "FIX.dynamic_or_sizes": "export again with this axis declared dynamic, or deploy the sizes "
    "that agree",
    "FIX.dynamic_or_given": "export again with this axis declared dynamic, or pass --only-given",
    # weight
    "FIX.give": "give {constant!r} the values of the reference's {right}",
    "FIX.own_constant": "give {node!r} a constant of its own with the values of the reference's "
    "{right}",
    "FIX.gates": "reorder the gate blocks of {constants} by {order}",
    "FIX.add_bias": "add {bias!r} to the node",
    # The pair as a whole
    "FIX.same_model": "check that both files are meant to be the same model, of the same training",
    "FIX.give_model": "give the model itself instead of its trace to prove the fault",
    "FIX.record_again": "record one of the traces again without --no-oracle, or state a --budget",
    "FIX.contradiction": "report it with both models and the JSON report; rely on neither answer",
    # What to change by hand, where no patch can be written
    "ADVICE.not_patchable": "isomorph cannot patch models of this framework; change the source:",
    "ADVICE.node": "{node} ({cause})",
    "ADVICE.node_fix": "{node} ({cause}): {fix}",
    "ADVICE.why": "  {summary}",
    "ADVICE.nondeterminism": "export the model in inference mode: model.eval() in PyTorch, "
    "training=False in Keras",
    "ADVICE.control_flow": "tracing fixed the branch or the number of rounds: export with "
    "torch.export or torch.jit.script, or keep the condition a tensor (tf.cond)",
    "ADVICE.shape": "the export fixed an axis at the size of its example: name it in "
    "dynamic_shapes (torch.export, torch.onnx.export) or leave it None in the input signature",
    "ADVICE.interface": "state names, order and types of inputs and outputs in the export call",
}
