"""For every cause, a fault that it must recognize and one that it must not.

Places in graphs are found by the search itself, in two small ONNX models. Runs that are suspected
are played by a stand-in runtime, which answers what a real one would.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
from onnx import helper, numpy_helper

from isomorph import registry
from isomorph.core.execution import Execution, Switch
from isomorph.core.fault_context import FaultContext
from isomorph.core.trace import Environment
from isomorph.diagnose.build_context import fault_contexts
from isomorph.localize.locate import locate
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.sessions.in_process import InProcessHost
from isomorph.sessions.model_handle import ModelHandle

HEAD = '<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>'


def drawn(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def network(text, **weights):
    proto = onnx.parser.parse_model(f"{HEAD} {text}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


def handle_of(role, proto):
    host = InProcessHost()
    model = registry.framework("onnx").load(proto, {})
    return ModelHandle(role=role, model=model, host=host, runtime="onnxruntime", settings={})


def place(reference, candidate, **feeds) -> FaultContext:
    """The context of the first fault of a candidate."""
    evaluated = []
    for role, proto in (("reference", reference), ("candidate", candidate)):
        side = handle_of(role, proto)
        evaluated.append(
            EvaluatedModel(
                role=role, model=side.model, feeds=feeds, runtime=side.run, plain=side.plain,
                oracle=side.oracle, seed=0, handle=side,
            )
        )  # fmt: skip
    ref, cand = evaluated
    outputs = zip(ref.model.graph.outputs, cand.model.graph.outputs, strict=True)
    located = locate(ref, cand, [(left.name, right.name) for left, right in outputs])
    assert located.chain.faults, "the example has no fault"
    _, found = next(fault_contexts(located.chain.faults, located.matcher, cand.handle))
    return found


def edited(proto, edit):
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    edit(copy)
    return copy


def with_attribute(proto, op, name, value):
    def edit(copy):
        node = next(node for node in copy.graph.node if node.op_type == op)
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return edited(proto, edit)


def with_weight(proto, name, change):
    def edit(copy):
        tensor = next(each for each in copy.graph.initializer if each.name == name)
        value = np.ascontiguousarray(change(numpy_helper.to_array(tensor).copy()))
        tensor.CopyFrom(numpy_helper.from_array(value, name))

    return edited(proto, edit)


def with_inputs(proto, op, *names):
    def edit(copy):
        node = next(node for node in copy.graph.node if node.op_type == op)
        del node.input[:]
        node.input.extend(names)

    return edited(proto, edit)


def linear():
    return network(
        "g (float[3,6] x) => (float[3,5] y) { h = Gemm (x, w, b) a = LeakyRelu <alpha=0.1> (h) "
        "y = Softmax <axis=1> (a) }",
        w=drawn(6, 5),
        b=drawn(5),
    )


X = {"x": drawn(3, 6, seed=9)}


def slope():
    return place(linear(), with_attribute(linear(), "LeakyRelu", "alpha", 0.3), **X)


def stale_weight():
    return place(linear(), with_weight(linear(), "w", lambda w: w + drawn(*w.shape, seed=4)), **X)


def difference():
    text = "g (float[4,4] x, float[4,4] z) => (float[4,4] y) { d = Sub (x, z) y = Exp (d) }"
    return network(text)


def exchanged_operands():
    feeds = {"x": drawn(4, 4), "z": drawn(4, 4, seed=1)}
    return place(difference(), with_inputs(difference(), "Sub", "z", "x"), **feeds)


def chosen():
    return network(
        "g (float[4,4] x) => (float[4,4] y) { c = Greater (x, zero) s = Mul (x, three) "
        "w = Where (c, x, s) y = Tanh (w) }",
        zero=np.float32(0),
        three=np.float32(3),
    )


def inverted_condition():
    return place(chosen(), with_inputs(chosen(), "Where", "c", "s", "x"), x=drawn(4, 4))


def detour(middle, kinds):
    return network(
        f"g (float[4,4] x) => (float[4,4] y) {{ s = Mul (x, big) {middle} y = Mul (r, small) }}",
        big=np.float32(kinds[0]),
        small=np.float32(kinds[1]),
    )


def through(number, big, small):
    plain = detour("r = Identity (s)", (big, small))
    cast = detour(f"c = Cast <to={number}> (s) r = Cast <to=1> (c)", (big, small))
    return place(plain, cast, x=drawn(4, 4))


def truncated():
    return through(6, 10.0, 1.0)


def overflowing():
    return through(10, 1e5, 1e-5)


def frozen_length():
    text = (
        "g (float[N,6] x) => (float[3,M] y) {{ {sizes} r = Reshape (x, t) q = Transpose (r) "
        "y = Tanh (q) }}"
    )
    follows = text.format(sizes="n = Shape <start=0, end=1> (x) t = Concat <axis=0> (n, rest)")
    free = network(follows.replace("[3,M]", "[3,2,M]").replace("Transpose (r)",
        "Transpose <perm=[1,2,0]> (r)"), rest=np.array([3, 2]))  # fmt: skip
    stuck = network(
        text.format(sizes="t = Identity (frozen)")
        .replace("[3,M]", "[3,2,M]")
        .replace("Transpose (r)", "Transpose <perm=[1,2,0]> (r)"),
        frozen=np.array([2, 3, 2]),
    )
    return free, stuck


def frozen_batch():
    """The sizes of a batch of 2 with 4 rows in it: what follows the input, and what does not."""
    text = "g (float[N,6] x) => (float[P,Q] y) {{ r = Reshape (x, {t}) y = Tanh (r) }}"
    free = network(
        text.format(t="t").replace("{ r", "{ n = Shape <start=0, end=1> (x) "
        "t = Concat <axis=0> (n, rest) r"), rest=np.array([6]),
    )  # fmt: skip
    return free, network(text.format(t="frozen"), frozen=np.array([2, -1]))


def sliced():
    """Every second row up to the end, and up to an end that was right for another length."""
    text = "g (float[N,6] x) => (float[P] y) {{ {ends} s = Slice (x, starts, {end}, axes) \
        m = ReduceMean <keepdims=0> (s, axes) y = Tanh (m) }}"
    constants = {"starts": np.array([0]), "axes": np.array([0])}
    free = network(text.format(ends="e = Shape <start=0, end=1> (x)", end="e"), **constants)
    stuck = network(text.format(ends="", end="frozen"), frozen=np.array([3]), **constants)
    return place(free, stuck, x=drawn(5, 6))


def two_ways():
    text = (
        "g (float[4,4] a, float[4,4] b) => (float[4,4] y) { p = Mul (a, a) q = Add (p, b) "
        "y = Tanh (q) }"
    )
    return network(text)


def exchanged_inputs():
    def edit(copy):
        for node in copy.graph.node:
            swap = {"a": "b", "b": "a"}
            names = [swap.get(name, name) for name in node.input]
            del node.input[:]
            node.input.extend(names)

    feeds = {"a": drawn(4, 4), "b": drawn(4, 4, seed=1)}
    return place(two_ways(), edited(two_ways(), edit), **feeds)


def fused():
    written = network(
        "g (float[3,6] x) => (float[3,5] y) { h = Gemm (x, w, b) a = Relu (h) y = Tanh (a) }",
        w=drawn(6, 5),
        b=drawn(5),
    )
    joined = network(
        "g (float[3,6] x) => (float[3,5] y) { a = com.microsoft.FusedGemm "
        '<activation="LeakyRelu", activation_alpha=0.3> (x, w, b) y = Tanh (a) }',
        w=drawn(6, 5),
        b=drawn(5),
    )
    return place(written, joined, **X)


def missing_state():
    text = "g (float[3,6] x, float[3,6] z) => (float[3,6] y) { h = Max (x, z) y = Tanh (h) }"
    without = edited(network(text), lambda copy: copy.graph.node[0].input.remove("z"))
    return place(network(text), without, x=drawn(3, 6), z=drawn(3, 6, seed=2))


def lost_operator():
    text = "g (float[3,6] x) => (float[3,6] y) {{ {a} y = Tanh (h) }}"
    return place(
        network(text.format(a="a = Exp (x) b = Sqrt (a) h = Neg (b)")),
        network(text.format(a="h = Neg (x)")),
        x=drawn(3, 6),
    )


def coarse_quantizer():
    text = "g (float[3,6] x) => (float[3,6] y) { q = QuantizeLinear (x, s, z) \
        h = DequantizeLinear (q, s, z) y = Tanh (h) }"
    wide = network(text, s=np.float32(0.03), z=np.int8(0))
    return place(wide, network(text, s=np.float32(0.005), z=np.int8(0)), **X)


def wrong_run(**answers) -> FaultContext:
    """A run that is wrong at one node; what is not answered is wrong, or repeats itself."""
    context = slope()
    right, exact = answers.get("right", lambda _: False), context.right
    execution = Execution(
        environment=Environment(
            runtime="onnxruntime",
            precision=answers.get("precision", "as declared"),
            settings={"optimization": "all", "threads": "", "dtype": "low"},
        ),
        plain={"optimization": "none"},
        right=right,
        steady=answers.get("steady", lambda _: True),
        alone=lambda _runtime, _settings: (
            context.wrong if answers.get("alone_wrong", True) else exact
        ),
        imitated=answers.get("imitated", lambda _: exact),
        single=lambda _: (Switch(name="NoisyFusion", settings={"disable_optimizers": "Noisy"}),),
        switches=(
            Switch(name="a basic optimizer", settings={"optimization": "none"}),
            Switch(name="full precision", settings={"dtype": "full"}, kind="precision"),
        ),
    )
    return replace(
        context, counterparts=context.nodes, reference=context.candidate, execution=execution
    )


def optimizer_changes():
    def right(changed):
        return "disable_optimizers" in changed or changed.get("optimization") == "none"

    return wrong_run(right=right)


def low_precision():
    return wrong_run(right=lambda changed: changed.get("dtype") == "full")


def random_run():
    return wrong_run(steady=lambda _: False)


def wrong_kernel():
    return wrong_run()


def right_alone():
    return wrong_run(alone_wrong=False)


EXAMPLES = {
    "attribute": (slope, stale_weight),
    "control_flow": (inverted_condition, slope),
    "dtype": (truncated, slope),
    "fusion": (fused, slope),
    "interface": (exchanged_inputs, slope),
    "kernel": (wrong_kernel, right_alone),
    "layout": (exchanged_operands, slope),
    "missing_op": (lost_operator, slope),
    "nondeterminism": (random_run, wrong_kernel),
    "precision": (overflowing, slope),
    "quantization": (coarse_quantizer, slope),
    "shape": (sliced, slope),
    "weight": (stale_weight, slope),
}
"""By cause: the example that it must recognize and the one that it must not."""

RUNS = {
    "fusion": (optimizer_changes, wrong_kernel),
    "precision": (low_precision, wrong_kernel),
}
"""The same for those causes that may also apply to a run."""
