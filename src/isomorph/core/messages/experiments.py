"""What experiments ask, change, predict and see, by cause.

The first is a question, the second what is changed, as an order, the third what the cause predicts.
The fourth is what is seen if that is right, and the fifth what is seen otherwise; what cannot
happen is empty or left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

PARTS = ("question", "change", "predicts", "seen", "refuted")

_NODE = "the node is right"
_RUN = "the run is right"
_IT_IS, _IT_IS_NOT = "it is", "it is not"
_NODE_RIGHT = (_NODE, _IT_IS, _IT_IS_NOT)
_RUN_RIGHT = (_RUN, _IT_IS, _IT_IS_NOT)
_ONE_PARAMETER = "Is one parameter of the quantizer wrong?"
_ONE_STEP = ("the values are right to within one step", "they are")
_OPERATOR_LOST = "Is an operator of the reference missing?"
_WHOLE = ("the outputs agree with it, and disagree without it", "they do")
_NEARER = ("the outputs move toward the reference's", "they do")

_WORDS: Mapping[str, tuple[str, ...]] = {
    "CAUSE.failed": (
        "Is {cause} the cause?",
        "run the experiments of this cause",
        _NODE,
        "",
        "they failed ({error}), so this stays unknown",
    ),
    # A whole fault
    "fault.tensor": (
        "Does {tensor!r} cause the wrong outputs?",
        "give {tensor!r} the values of the reference's {right!r} and change nothing else",
        *_WHOLE,
        "not all outputs agree",
    ),
    "fault.tensor_alone": (
        "Does {tensor!r} cause the wrong outputs?",
        "give {tensor!r} the values of the reference's {right!r} and change nothing else",
        _WHOLE[0],
        "they do; alone it removes {share:.1%} of the error",
        "not all outputs agree; alone it removes {share:.1%} of the error",
    ),
    "fault.constant": (
        "Does constant {constant!r} cause the wrong outputs?",
        "give it the reference's values ({difference}) and change nothing else",
        _WHOLE[0],
        "they do; alone it removes {share:.1%} of the error",
    ),
    "fault.attribute": (
        "Is attribute {name} of {node!r} wrong?",
        "compute it with the reference's node",
        *_NEARER,
    ),
    # Constants that no given input shows
    "constant.shown": (
        "Is constant {constant!r} wrong?",
        "give it the reference's values ({difference})",
        *_NEARER,
    ),
    "constant.not_reached": (
        "Is constant {constant!r} wrong?",
        "give it the reference's values ({difference})",
        _NEARER[0],
        "",
        "nothing changes on {tried} inputs",
    ),
    "constant.undecided": (
        "Is constant {constant!r} wrong?",
        "give it the reference's values ({difference})",
        _NEARER[0],
        "",
        "they move by less than lower precision explains",
    ),
    "constant.refuted": (
        "Is constant {constant!r} wrong?",
        "give it the reference's values ({difference})",
        _NEARER[0],
        "",
        "they move away from it",
    ),
    # attribute
    "attribute.parameter": ("Is {names} wrong?", "{setting}", *_NODE_RIGHT),
    "attribute.parameter_of": ("Is {names} of {node!r} wrong?", "{setting}", *_NODE_RIGHT),
    "attribute.formula": (
        "Which formula does each side compute?",
        "compute every known formula from the same input, in float64",
        "each side matches one of them",
        "the candidate computes {now}, the reference {right}",
    ),
    "attribute.softmax_axes": (
        "Over which axes does each side compute {op}?",
        "compute it in float64 over axis {axis} only, and over all axes from {axis} on",
        "each side matches one of the two",
        "the {flat} uses all axes from {axis} on, the {single} axis {axis} only",
    ),
    # control_flow
    "control_flow.result": ("Does {node!r} decide wrongly?", "invert its result", *_NODE_RIGHT),
    "control_flow.condition": (
        "Does {node!r} decide wrongly?",
        "invert its condition {condition!r}",
        *_NODE_RIGHT,
    ),
    "control_flow.branches": ("Does {node!r} decide wrongly?", "swap its branches", *_NODE_RIGHT),
    "control_flow.trip_count": (
        "Does {node!r} decide wrongly?",
        "set its trip count {count!r} to {rounds}",
        *_NODE_RIGHT,
    ),
    # dtype
    "dtype.fits": (
        "Do the values fit {types}?",
        "convert the right values to that type",
        "they become the wrong ones",
        "they do",
        "they do not",
    ),
    "dtype.rounding": (
        "How does each side round?",
        "round the same float64 values in every known way",
        "each side matches one of them",
        "the candidate {now}, the reference {right}",
    ),
    # fusion
    "fusion.none": (
        "Does an optimizer of the runtime change the result?",
        "run the same model with every optimizer off",
        *_RUN_RIGHT,
    ),
    "fusion.together": (
        "Are they {names} together?",
        "switch only these optimizers off; each does what another leaves undone",
        "the run is right, and wrong with any of them on",
        _IT_IS,
    ),
    "fusion.one": ("Is it {name}?", "switch only this {kind} off", _RUN, _IT_IS),
    "fusion.one_of": (
        "Is it {name}?",
        "switch only this {kind} off",
        _RUN,
        "it is; switching {count} others off one by one changes nothing",
    ),
    "fusion.single": (
        "Is it a single {kind}?",
        "switch each {kind} of {count} off by itself",
        "with one of them off, the run is right",
        "",
        "with none of them off, it is",
    ),
    # interface
    "interface.other_output": (
        "Is {output!r} another output of the reference?",
        "compare it with {right!r}",
        "they are equal",
        "they are",
    ),
    "interface.inputs": (
        "Are inputs {one!r} and {other!r} swapped?",
        "feed each with the other's values",
        _NODE,
        _IT_IS,
    ),
    # kernel
    "kernel.alone": (
        "Is {op} wrong by itself in this runtime?",
        "run the node alone on the right inputs, with every optimizer off",
        "it is as wrong as in the whole model",
        _IT_IS,
        "alone it is right",
    ),
    "kernel.subnormal": (
        "Does {op} read subnormal inputs as zero?",
        "set subnormal inputs to zero in the float64 evaluation",
        "it then matches the run",
        "it does",
    ),
    "kernel.saturation": (
        "Do sums of two products in {op} saturate at 16 bits?",
        "add neighboring products of the same operands in 16 bits, as CPUs without VNNI do",
        "the result matches the run everywhere, and exact sums do not",
        "it does; saturation changes {count} of {size} elements",
    ),
    "kernel.fused_saturation": (
        "Do sums of two products of bytes saturate at 16 bits in the fused nodes?",
        "add neighboring products in 16 bits in float64, as CPUs without VNNI do",
        "it then matches the run, and without this change the run is wrong",
        "it does",
    ),
    "kernel.fused_saturations": (
        "Do sums of two products of bytes saturate at 16 bits in the fused nodes?",
        "add neighboring products of {count} nodes in 16 bits in float64, as CPUs without VNNI do",
        "it then matches the run, and without this change the run is wrong",
        "it does",
    ),
    "kernel.other_kernels": (
        "Are the runtime's other kernels right?",
        "run the same model with {switch}",
        *_RUN_RIGHT,
    ),
    "kernel.other_runtime": (
        "Is {op} right in {runtime}?",
        "run the node alone in {runtime} on the right inputs",
        "it matches its float64 value",
        "it does",
        "it does not",
    ),
    # layout
    "layout.order": (
        "Does {tensor!r} hold the right values in another order?",
        "compare both tensors without the order of their elements",
        "they agree",
        "they do, and element by element they differ",
    ),
    "layout.outputs": (
        "Are outputs {one} and {other} of {node!r} swapped?",
        "let the readers of one read the other",
        *_NODE_RIGHT,
    ),
    "layout.input": (
        "Does {node!r} read the wrong tensor?",
        "let it read {tensor!r} instead",
        *_NODE_RIGHT,
    ),
    "layout.operands": (
        "Are the {parts} of {node!r} {arrangement}?",
        "let it read {names} in this order",
        *_NODE_RIGHT,
    ),
    # missing_op
    "missing_op.connected": (_OPERATOR_LOST, "{patch}", _NODE, _IT_IS),
    "missing_op.operator": (_OPERATOR_LOST, "let {node!r} compute {op} instead", _NODE, _IT_IS),
    "missing_op.fed": (
        _OPERATOR_LOST,
        "feed the reference's {right!r} instead of {tensor!r}",
        _NODE,
        _IT_IS,
    ),
    "missing_op.compared": (
        _OPERATOR_LOST,
        "compare the result with the input of the reference's {node!r}",
        "they agree",
        "they do",
    ),
    "missing_op.left_out": (
        "Does the reference compute this at all?",
        "use {right!r} instead of {tensor!r}",
        _NODE,
        _IT_IS,
    ),
    # nondeterminism
    "nondeterminism.twice": (
        "Does the model repeat its results?",
        "run the same session twice on the same inputs",
        "if something is random, the two runs differ",
        "they differ",
    ),
    "nondeterminism.twice_plain": (
        "Does the model repeat its results?",
        "run the same session twice on the same inputs, with every optimizer off",
        "if something is random, the two runs differ",
        "they differ",
    ),
    "nondeterminism.race": (
        "Do its threads race?",
        "run the model twice with one thread",
        "the two runs agree",
        "they do",
        "they differ",
    ),
    "nondeterminism.threads": (
        "Does the result depend on the number of threads?",
        "run the model with one thread",
        *_RUN_RIGHT,
    ),
    # precision
    "precision.node": (
        "Is {dtype} too narrow at {node!r}?",
        "cast to float32 instead of {dtype}",
        *_NODE_RIGHT,
    ),
    "precision.run": (
        "Is the precision of the run too low?",
        "run the same model with {switch}",
        *_RUN_RIGHT,
    ),
    "precision.mark": (
        "Does the node compute in {dtype}?",
        "round the inputs of the float64 evaluation to {dtype}",
        "it comes close to the run",
        "the distance falls from {gap:.2g} to {least:.2g}",
    ),
    "precision.constant": (
        "Does constant {constant!r} change the outputs?",
        "give the reference the number that the candidate stores",
        "the outputs differ by no more than lower precision explains",
        "{outputs} agree",
    ),
    # quantization
    "quantization.integers": (
        "Are the integers of {constant!r} wrong?",
        "use the reference's weight instead",
        *_NODE_RIGHT,
    ),
    "quantization.axis": (_ONE_PARAMETER, "set the axis of {node!r} to {axis}", *_ONE_STEP),
    "quantization.shift": (
        _ONE_PARAMETER,
        "subtract {shift:.3g} from every value that is not clipped",
        *_ONE_STEP,
    ),
    "quantization.factor": (
        _ONE_PARAMETER,
        "divide every value that is not clipped by {factor:.4g}",
        *_ONE_STEP,
    ),
    "quantization.range": (
        "Is the range of the quantizer too narrow?",
        "clip the reference's values at {low:.3g} and {high:.3g}",
        "the values with the largest errors become right",
        "they do",
    ),
    "quantization.halves": (
        "How does each side round halves?",
        "round the same float64 values in every known way",
        "each side matches one of them, and they differ only at halves",
        "the candidate rounds halves {now}, the reference {right}",
    ),
    # shape
    "shape.size": ("Is {constant!r} a size of another input?", "give it {right}", *_NODE_RIGHT),
    # weight
    "weight.value": (
        "Is constant {constant!r} wrong?",
        "give it the values of the reference's {right}",
        *_NODE_RIGHT,
    ),
    "weight.gates": (
        "Are the gates of {node!r} in another order?",
        "reorder the gate blocks of its weights by {order}",
        *_NODE_RIGHT,
    ),
    "weight.body": ("Is a constant of the body wrong?", "{patch}", *_NODE_RIGHT),
    "weight.bias": (
        "Does {node!r} lack a bias?",
        "add the reference's {bias!r} to its output",
        *_NODE_RIGHT,
    ),
}


def _each() -> Iterator[tuple[str, str]]:
    for name, texts in _WORDS.items():
        for part, text in zip(PARTS, texts, strict=False):
            if text:
                yield f"EXPERIMENT.{name}.{part}", text


EXPERIMENTS: Mapping[str, str] = dict(_each())
"""The texts of each experiment, by cause, name and part."""
