"""What is wrong with a node, by cause; each completes ``Conv 'stem': …``."""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[str, str] = {
    "CAUSE.after": "{summary}; {cause}",
    "CAUSE.not_examined": "could not be examined",
    # attribute
    "attribute.value": "{name} is {now}, not {right}",
    "attribute.value_of": "{name} of {op} is {now}, not {right}",
    "attribute.flat": "uses all axes from it on as one",
    "attribute.alone": "uses this axis only",
    "attribute.not_given": "not given",
    "attribute.reference_value": "the reference's",
    "attribute.array": "{name} differs from the reference's",
    "attribute.number": "the number {name} is {now}, not {right}",
    "attribute.opset": "axis {axis} is read as in another opset: it {now}, the reference {right} "
    "(opset 13 changed this)",
    "attribute.form": "it computes {now}, the reference {right}",
    "attribute.same_inputs": "its inputs are the reference's, and its result is not",
    "attribute.same_inputs_weights": "its inputs and weights are the reference's, and its result "
    "is not",
    "attribute.suspected": "{changes} (suspected)",
    "attribute.decomposed": "{op} is computed by another formula or with another parameter",
    # control_flow
    "control_flow.result": "{op} gives another result than the reference's on the same condition",
    "control_flow.reference_op": "the reference's operator",
    "control_flow.inverted": "the condition is inverted ({op} instead of {right})",
    "control_flow.other_branch": "{op} takes the other branch than the reference on the same "
    "condition",
    "control_flow.exchanged": "the branches of {op} are exchanged",
    "control_flow.rounds": "the loop runs {now} rounds, the reference's {right}",
    "control_flow.frozen": "the candidate always takes the branch it was exported with; the "
    "reference's {op} {node!r} decides by its input",
    # dtype
    "dtype.computed": "{op} is computed in {now}, the reference's in {right}",
    "dtype.wraps": "the values leave the range of {dtype} and wrap around",
    "dtype.clipped": "the values leave the range of {dtype} and are clipped at its ends",
    "dtype.fraction": "{dtype} loses the fraction of the values",
    "dtype.truncates": "truncates {values}",
    "dtype.rounds": "rounds {values}",
    "dtype.rounds_down": "rounds {values} down",
    "dtype.rounds_up": "rounds {values} up",
    "dtype.keeps_fraction": "keeps the fraction of {values}",
    "dtype.quotient": "its quotient",
    "dtype.values": "the values",
    "dtype.unknown": "another type",
    "dtype.changed": "values pass through {types}, which changes them",
    "dtype.cast": "the cast {now}, the reference {right}",
    "dtype.range": "the values leave the range of {dtype}",
    "dtype.division": "the division {now}, the reference's {right}",
    # fusion
    "fusion.replaced": "what it replaces",
    "fusion.some_optimizer": "an optimizer of the runtime",
    "fusion.kind": "optimizer",
    "fusion.group": "group of optimizers",
    "fusion.operator": "the fused {op} does not compute {parts}",
    "fusion.taken_in": "{op} replaces the reference's {lost} as well, and does not do the same",
    "fusion.one_for_several": "one {op} replaces the reference's {parts}, and is not the same",
    "fusion.no_optimizer": "no optimizer changes the result",
    "fusion.optimizer": "{optimizer} changed the result: without it the run is right",
    # interface
    "interface.other_output": "output {output!r} holds the values of the reference's {right!r}",
    "interface.exchanged_inputs": "inputs {one!r} and {other!r} are exchanged",
    "interface.retyped_input": "input {input!r} was {was} and is {now}, which cannot hold it",
    # kernel
    "kernel.not_run_alone": "a kernel is likely wrong, but no node could be run alone",
    "kernel.right_alone": "alone it is right",
    "kernel.off": "the kernel of {op} in {runtime} is wrong by itself{where}",
    "kernel.not_finite": ": NaN or an infinity is lost or added at {count} of {size} places",
    "kernel.subnormal": "it reads subnormal numbers as zero",
    "kernel.saturation": "its sums of two products of bytes saturate at 16 bits, at {count} of "
    "{size} places",
    "kernel.other_right": "with {switch} it is right",
    "kernel.fused_saturation": "the runtime fuses it with its quantizers and computes on unsigned "
    "and signed bytes, whose sums of two products saturate at 16 bits",
    "kernel.saturated_places": "this changes {moved} of {size} places",
    # layout
    "layout.moved": "the right values stand in the wrong places",
    "layout.axes": "the right values stand in the wrong places: the axes belong in the order "
    "{order}",
    "layout.outputs": "outputs {one} and {other} of {op} are exchanged",
    "layout.misread": "input {place} of {op} is {now!r}; the reference reads {right!r} there",
    "layout.swapped": "swapped",
    "layout.other_order": "in another order",
    "layout.operands": "the {parts} of {op} are {arrangement}",
    # missing_op
    "missing_op.mask": "the reference adds a mask to the scores, and the candidate adds nothing",
    "missing_op.hidden_rows": (
        "the mask hides every key of {rows}: the reference returns 0 there, and the candidate "
        "the mean of all values; every other row is right"
    ),
    "missing_op.hidden_rows_zero": (
        "the mask hides every key of {rows}: the candidate returns 0 there, and the reference "
        "does not; every other row is right"
    ),
    "missing_op.inputs": "{op} lacks {count} of the inputs that the reference's has",
    "missing_op.instead": "{op} stands where the reference has {right}",
    "missing_op.absent": "the reference's {op} is missing",
    "missing_op.unknown_tensor": "another tensor",
    "missing_op.unread": "the reference reads {unread} here, and the candidate does not",
    "missing_op.added": "{words} {verb} {source!r}, which the reference uses unchanged",
    # nondeterminism
    "nondeterminism.random": "it draws random numbers at {nodes}",
    "nondeterminism.threads": "its threads race: with one thread it repeats itself",
    "nondeterminism.unknown": "nothing in the graph says why",
    "nondeterminism.one_thread": "with one thread it is right",
    "nondeterminism.any_threads": "the number of threads changes nothing",
    # precision
    "precision.overflow": "the values overflow {dtype}",
    "precision.digits": "{dtype} has too few digits for the values",
    "precision.cut_one": "constant {constant!r} is cut off at {limit:.6g}, the largest number of "
    "{dtype}: one of its numbers lies beyond ({largest:.3g})",
    "precision.cut_many": "constant {constant!r} is cut off at {limit:.6g}, the largest number of "
    "{dtype}: {count} of its numbers lie beyond, up to {largest:.3g}",
    "precision.narrower": "a narrower float",
    "precision.full": "full precision changes nothing",
    "precision.run": "the runtime computes in {dtype}, not in the declared type",
    "precision.run_switch": "the runtime computes in {dtype}, not in the declared type; with "
    "{switch} it is right",
    # quantization
    "quantization.packed_unknown": "the packed weights of {node!r} are no rounding of the "
    "reference's",
    "quantization.packed": "{words} in the packed weights of {node!r}: read otherwise, they are "
    "the reference's",
    "quantization.packing": "the numbers of each byte are in the opposite order",
    "quantization.group_axis": "the scales of the groups lie along the other axis",
    "quantization.other_axis": "the scales lie along another axis",
    "quantization.signs": "signed numbers are read as unsigned ones or the reverse",
    "quantization.some_scales": "{wrong} of {count} scales {verb} {size} times the right one",
    "quantization.zero_points": "every zero point is off by {shift}",
    "quantization.scales": "every scale is {factor:.3g} times the right one",
    "quantization.bias_scale": "the scale of the bias of {node!r} is {factor:.4g} times that of "
    "input and weight",
    "quantization.no_step": "the quantizer's scale is {scale}: it was calibrated on values that "
    "are not finite",
    "quantization.axis": "its scales lie along axis {now}, not {right}",
    "quantization.stored": "the integers of {constant!r} do not stand for the reference's weight: "
    "{difference}",
    "quantization.zero_point": "the zero point is wrong: its values are shifted by {steps} steps",
    "quantization.signedness": "int8 is read as uint8, or the reverse: its values are shifted by "
    "{steps} steps",
    "quantization.scale": "the scale is wrong: its values are {factor:.4g} times the right ones",
    "quantization.clips": "the quantizer's range ({low:.3g} … {high:.3g}) clips {share:.0%} of "
    "the values",
    "quantization.shift": "the zero point is wrong: the quantizer shifts its values by {shift:.3g}",
    "quantization.wasted": "the quantizer is coarser than its width requires: the values reach "
    "only {reached} of its steps",
    "quantization.coarse": "the quantizer is coarser than its width requires: its scale does not "
    "fit the values",
    "quantization.ties": "values half-way between two steps ({halves}) are rounded {now}, and by "
    "the reference {right}",
    # shape
    "shape.reference": "the reference's {tensor!r}",
    "shape.this_input": "the sizes of this input",
    "shape.sizes": "{op} reads sizes {stored}; for this input they are {right}",
    "shape.frozen": "{op} reads sizes {stored} that were frozen; for this input they are {right}",
    # weight
    "weight.differs": "weight {constant!r} differs from the reference's: {difference}",
    "weight.differs_renamed": "weight {constant!r} differs from the reference's {reference!r}: "
    "{difference}",
    "weight.computed": "weight {constant!r} differs from the reference's {computed}: {difference}",
    "weight.with_folded": "weight with {operators} folded in",
    "weight.packed": "packed weights",
    "weight.colors": "input channels 0 and 2 of weight {constant!r} are swapped (RGB/BGR?)",
    "weight.unknown": "weight {constant!r} has values that the reference does not hold",
    "weight.gates": "the gate blocks of {constants} are in the wrong order",
    "weight.gate_order": "its gate blocks are in the order {order}",
    "weight.inside": "a constant of its body is wrong; right is {change}",
    "weight.bias_dropped": "the reference's bias {bias!r} is not added",
    "weight.bias_unread": "the reference's bias {bias!r} is not added, although the candidate "
    "stores it",
    # How two constants differ
    "difference.signedness": "int8 is read as uint8, or the reverse",
    "difference.grid_scale": "the scale is wrong, they are {factor:.4g} times too large",
    "difference.channel_scales": "the scales of {count} of {size} channels are wrong",
    "difference.grid_shift": "the zero point is wrong, they are shifted by {steps:.0f} steps",
    "difference.steps": "{count} of {size} values are off by more than a step",
    "difference.others": "other values",
    "difference.rows": "{count} rows are missing",
    "difference.unlisted": "its stored numbers differ",
    "difference.not_zero": "{count} of {size} elements, which should be zero",
    "difference.elements": "{count} of {size} elements, off by {percent:.3g}%",
    "difference.on_grid": "{text}: {grid}",
    "difference.stored_as": "{exact:.3g} is stored as {stored:.3g}",
    "difference.attribute": "attribute {name} of node {node!r} differs ({values})",
    "difference.attribute_values": "{right} against {now}",
    # The node that crashes a runtime
    "crash.alone": "a model of {node!r} ({op} in {dtype}) alone crashes it, too",
    "crash.with_others": "everything before {node!r} ({op} in {dtype}) runs; with this node it "
    "crashes",
    "crash.scales": "{text}; the scale of {tensors} is not positive",
    "crash.unknown_type": "an unknown type",
    "difference.zeros": "it is all zeros",
    "difference.transposed": "it is transposed",
    "difference.axes": "its axes are {order}",
    "difference.rounded": "its values were rounded to {dtype}",
    "difference.truncated": "its values were cut off to {dtype}, not rounded",
    "difference.some": "{count} of {size} values differ",
    "difference.factor": "its values are multiplied by {factor:.6g}",
    "difference.too_large": "each of its values is {by:.6g} too large",
    "difference.too_small": "each of its values is {by:.6g} too small",
    "difference.swapped": "channels {one} and {other} along axis {axis} are swapped",
    "difference.channels": "{count} of {size} channels along axis {axis} are in another order",
    "difference.order": "the same values in another order",
    "difference.correlated": "the values are similar (correlation {correlation:.4g}), as from "
    "another checkpoint",
    "difference.unrelated": "the values are unrelated",
}
