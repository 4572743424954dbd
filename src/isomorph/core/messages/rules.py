"""Remarks of lint and their advice, by the code of the rule."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    # unsupported_operator
    "ISO101.refused": "{converters} refused {op} alone, with these attributes",
    "ISO101.refused_advice": "try it with isomorph convert: it may pass in this model",
    "ISO101.hopeless": "{converters} cannot convert {op}, and there is no other way",
    "ISO101.hopeless_advice": "build it from operators that the target has",
    "ISO101.lacking": "{converters} cannot convert {op}; another way may",
    "ISO101.lacking_advice": "let isomorph convert choose the way, or name another with --via",
    # custom_domain
    "ISO102.custom": "{op} is not a standard operator ({kind})",
    "ISO102.custom_advice": "replace it with standard operators, or export without the optimizer "
    "that made it",
    # opset_range
    "ISO103.old": "opset {opset} is older than the runtime's {first} to {last}",
    "ISO103.new": "opset {opset} is newer than the runtime's {first} to {last}",
    "ISO103.advice": "isomorph convert MODEL OTHER.onnx --opset {opset}",
    # epsilon_underflow
    "ISO104.zero": "epsilon {epsilon:g} of {op} is zero in {dtype}",
    "ISO104.zero_advice": "use an epsilon of at least {least:.0e}, or keep the node in float32",
    # unsupported_type
    "ISO105.input": "the conversion changes input {input!r} from {dtype} to {now}",
    "ISO105.input_advice": "feed the converted model with that type, and values that fit it",
    "ISO105.target": "{target} does not compute with {dtype}, first at {tensor!r}",
    "ISO105.target_advice": "cast it to a type that the target has before converting",
    "ISO105.kernel": "the runtime has no kernel of {op} for {dtype}",
    "ISO105.kernel_advice": "cast before the node to a type that it has: {dtypes}",
    # frozen_axis
    "ISO106.frozen": "{op} to {shape} leaves no axis dynamic, although its input has a dynamic one",
    "ISO106.frozen_advice": "export with dynamic axes declared, or write -1 for the batch; "
    "isomorph check --dims tries other sizes",
    # data_dependent_python
    "ISO107.python": "Python code decides on values: {details}",
    "ISO107.python_advice": "use torch.cond or torch.where, or script the module: tracing keeps "
    "only the branch that its example takes",
    # training_mode
    "ISO108.node": "{op} is in training mode",
    "ISO108.module": "the module is in training mode",
    "ISO108.advice": "call model.eval() before exporting",
    # random_operator
    "ISO109.random": "{op} draws random numbers, and no two runtimes draw the same",
    "ISO109.random_advice": "make the noise an input of the model",
    # float16_overflow
    "ISO110.constant": "constant {constant!r} is infinite in float16",
    "ISO110.attribute": "{names} of {op} is infinite in float16",
    "ISO110.sum": "{op} adds more elements than float16 counts up to",
    "ISO110.advice": "use a mask within ±65504, or keep this part in float32",
    # quantization_scheme
    "ISO111.uint8": "TFLite has no uint8 weights beside the int8 weights of float models: "
    "{tensor!r}",
    "ISO111.weights": "TFLite has no asymmetric weights: {tensor!r}",
    "ISO111.channels": "TFLite does not quantize activations channel by channel: {tensor!r}",
    "ISO111.int16": "TFLite has no asymmetric 16-bit activations: {tensor!r}",
    "ISO111.advice": "quantize for the target: convert the float model with --quantize int8",
    # nan_pattern
    "ISO112.negative": "{op} of {operand!r} is NaN where that is negative, and nothing prevents it",
    "ISO112.zero": "{op} of {operand!r} is not finite where that is zero, and nothing prevents it",
    "ISO112.advice": "add an epsilon, or clip before it",
    # equal_axes
    "ISO113.input": "input {input!r} has as many channels as rows or columns ({shape}), so its "
    "shape does not show its layout",
    "ISO113.input_advice": "check the converted model with --layout stated, or with real inputs",
    "ISO113.inside": "{count} nodes work along an axis of a tensor with equal ones, first {op} of "
    "{tensor!r} ({shape})",
    "ISO113.inside_advice": "convert with isomorph convert, which proves each hop, or choose sizes "
    "that differ",
    # node_names
    "ISO114.unnamed_one": "1 node has no name of its own, or shares one: {kinds}",
    "ISO114.unnamed": "{count} nodes have no name of their own, or share one: {kinds}",
    "ISO114.unnamed_advice": "name them when exporting; reports call them by operator and output",
    "ISO114.underscore": "the name of input {input!r} begins with an underscore, which "
    "TensorFlow's signatures do not allow",
    "ISO114.underscore_advice": "rename the input",
    # shared_weight
    "ISO115.shared": "{count} nodes read weight {weight!r}: {nodes}",
    "ISO115.shared_advice": "see that the converted file holds it once; quantized, it has one "
    "scale",
    # unused_weight
    "ISO116.unread": "no node reads weight {weight!r} ({shape})",
    "ISO116.unread_advice": "see whether a layer was lost in an earlier export",
    # external_data
    "ISO117.advice": "keep the files together, whole, in one folder",
    # dynamic_axis
    "ISO118.recurrent": "input {input!r} has dynamic axes ({axes}), and recurrent layers reach "
    "TFLite with a fixed batch only",
    "ISO118.fixed": "input {input!r} has dynamic axes ({axes}), and {converters} fixes them at the "
    "size of the example",
    "ISO118.advice": "state the size that you deploy with: --dim AXIS=SIZE or --inputs",
    # small_weights
    "ISO119.small": "dynamic range quantization will quantize nothing: no weight has {least} "
    "elements (the largest has {largest})",
    "ISO119.small_advice": "use --quantize int8 with samples, or leave it in float",
    # approximated_operator
    "ISO120.approximated": "{converters} does not keep {op} with these attributes exactly",
    "ISO120.error": "{converter} (by up to {error:.0e})",
    "ISO120.everywhere_advice": "let isomorph convert show what it costs the outputs",
    "ISO120.advice": "name another way with --via where the difference matters",
    # tensor_range
    "ISO121.reached": "tensor {tensor!r} reaches {low:.4g} … {high:.4g}",
    "ISO121.reached_advice": "keep its node in float32, or scale what it adds up; isomorph ranges "
    "has the input",
    "ISO121.bounded": "tensor {tensor!r} is only bounded by {low:.4g} … {high:.4g}",
    "ISO121.bounded_advice": "narrow the ranges, or keep its node in float32",
}
