"""Faults planted inside branches and loops: the node in the body is named, not only the loop."""

import importlib.util
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

RNG = np.random.default_rng(11)
W = (0.5 * RNG.normal(size=(4, 4))).astype(np.float32)
X = {"x": RNG.normal(size=(3, 4)).astype(np.float32)}


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, weights=(), shape=(3, 4)):
    graph = helper.make_graph(
        nodes, "g", [info("x", [3, 4])], [info("y", list(shape))],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in dict(weights).items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def recurrence(alpha=0.1, weight=W):
    """Nodes of one step: matrix product with an outer weight, a bend, the outer input added."""
    return [
        helper.make_node("MatMul", ["h", "w"], ["m"], "product"),
        helper.make_node("LeakyRelu", ["m"], ["a"], "bend", alpha=alpha),
        helper.make_node("Add", ["a", "x"], ["h_next"], "sum"),
    ]


def loop(alpha=0.1, trips=4, late=False, axis=1):
    steps = recurrence(alpha)
    if late:
        # The slope is wrong from the third round on, when the counter passes one.
        steps[1:2] = [
            helper.make_node("LeakyRelu", ["m"], ["a_right"], "bend", alpha=0.1),
            helper.make_node("LeakyRelu", ["m"], ["a_wrong"], "bend_late", alpha=alpha),
            helper.make_node("Greater", ["i", "one"], ["later"], "later"),
            helper.make_node("Where", ["later", "a_wrong", "a_right"], ["a"], "choice"),
        ]
    body = helper.make_graph(
        [*steps, helper.make_node("Identity", ["going"], ["go_on"], "go")],
        "body",
        [info("i", [], TensorProto.INT64), info("going", [], TensorProto.BOOL), info("h", [3, 4])],
        [info("go_on", [], TensorProto.BOOL), info("h_next", [3, 4])],
    )
    nodes = [
        helper.make_node("Tanh", ["x"], ["start"], "before"),
        helper.make_node("Loop", ["trips", "yes", "start"], ["h_last"], "rounds", body=body),
        helper.make_node("Sigmoid", ["h_last"], ["half"], "between"),
        helper.make_node("LeakyRelu", ["half"], ["bent"], "steady"),
        helper.make_node("Softmax", ["bent"], ["y"], "after", axis=axis),
    ]
    weights = {"w": W, "trips": np.array(trips), "yes": np.array(True), "one": np.array(1)}
    return model(nodes, weights)


def scaled_loop(*, dropped):
    """A loop behind a product that may be missing: then it reads what the product would."""
    made = loop()
    inserted = helper.make_node("Mul", ["start", "factor"], ["scaled"], "scale")
    made.graph.initializer.append(numpy_helper.from_array(np.float32(1.7), "factor"))
    if not dropped:
        made.graph.node.insert(1, inserted)
        made.graph.node[2].input[2] = "scaled"
    return made


def scan(alpha=0.1):
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["s", "row"], ["p"], "product"),
            helper.make_node("LeakyRelu", ["p"], ["b"], "bend", alpha=alpha),
            helper.make_node("Add", ["b", "row"], ["s_next"], "sum"),
            helper.make_node("Sigmoid", ["s_next"], ["out"], "gate"),
        ],
        "body", [info("s", [4]), info("row", [4])], [info("s_next", [4]), info("out", [4])],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceSum", ["x", "axis"], ["s0"], "start", keepdims=0),
        helper.make_node("Scan", ["s0", "x"], ["last", "y"], "scan", body=body, num_scan_inputs=1),
    ]
    return model(nodes, {"axis": np.array([0])})


def branch(alpha=0.1, swapped=False, nested=False):
    then = [
        helper.make_node("LeakyRelu", ["t"], ["b"], "bend", alpha=alpha),
        helper.make_node("Exp", ["b"], ["then_out"], "grow"),
    ]
    if nested:
        inner = helper.make_graph(
            [helper.make_node("LeakyRelu", ["t"], ["deep"], "deep_bend", alpha=alpha)],
            "inner", [], [info("deep", [3, 4])],
        )  # fmt: skip
        other = helper.make_graph(
            [helper.make_node("Neg", ["t"], ["flat"], "negate")], "other", [],
            [info("flat", [3, 4])],
        )  # fmt: skip
        then[0] = helper.make_node("If", ["yes"], ["b"], "inner_if", then_branch=inner,
                                   else_branch=other)  # fmt: skip
    branches = [
        helper.make_graph(then, "then", [], [info("then_out", [3, 4])]),
        helper.make_graph([helper.make_node("Neg", ["t"], ["else_out"], "flip")], "else", [],
                          [info("else_out", [3, 4])]),
    ]  # fmt: skip
    if swapped:
        branches.reverse()
    nodes = [
        helper.make_node("Tanh", ["x"], ["t"], "before"),
        helper.make_node("If", ["yes"], ["y"], "choose", then_branch=branches[0],
                         else_branch=branches[1]),
    ]  # fmt: skip
    return model(nodes, {"yes": np.array(True)})


def first_finding(right, wrong):
    report = isomorph.check(right, wrong, inputs=X, in_process=True)
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert first.code == "GUILTY_NODE"
    return first


def test_a_node_that_is_missing_before_a_loop_is_no_fault_of_its_body():
    first = first_finding(scaled_loop(dropped=False), scaled_loop(dropped=True))
    assert first.node == "rounds"
    assert "scale" in first.reference_nodes or "Mul" in first.summary


@pytest.mark.parametrize(
    ("build", "node"),
    [
        (loop, "rounds/body#0/bend"),
        (scan, "scan/body#0/bend"),
        (branch, "choose/then_branch#0/bend"),
    ],
)
def test_a_fault_in_a_body_names_the_node_in_the_body(build, node):
    first = first_finding(build(), build(alpha=0.3))
    assert first.node == node
    assert first.status == "confirmed"
    assert first.cause == "attribute"
    assert first.reference_nodes == (node,)
    assert first.evidence["round"] == 1


def test_a_fault_of_later_rounds_is_found_in_its_round():
    first = first_finding(loop(late=True), loop(alpha=0.3, late=True))
    assert first.node == "rounds/body#0/bend_late"
    assert first.evidence["round"] == 3


def test_a_body_within_a_body_is_entered_too():
    first = first_finding(branch(nested=True), branch(alpha=0.3, nested=True))
    assert first.node == "choose/then_branch#0/inner_if/then_branch#0/deep_bend"


def test_exchanged_branches_are_the_fault_of_the_branch():
    first = first_finding(branch(), branch(swapped=True))
    assert (first.node, first.cause) == ("choose", "control_flow")


def test_another_number_of_rounds_is_the_fault_of_the_loop():
    assert first_finding(loop(), loop(trips=5)).node == "rounds"


def test_faults_inside_and_outside_are_both_found():
    report = isomorph.check(loop(), loop(alpha=0.3, axis=0), inputs=X, in_process=True)
    faulty = {f.node for f in report.findings if f.code == "GUILTY_NODE"}
    assert faulty == {"rounds/body#0/bend", "after"}


@pytest.fixture(scope="module")
def functions():
    tf = pytest.importorskip("tensorflow")
    spec = [tf.TensorSpec([3, 4], tf.float32, name="x")]

    def made(alpha, shift):
        @tf.function(input_signature=spec)
        def function(x):
            def body(k, h):
                return k + 1, tf.nn.leaky_relu(tf.matmul(h, W), alpha) + x

            _, h = tf.while_loop(lambda k, _: k < 3, body, [0, tf.tanh(x)])
            return tf.cond(tf.reduce_sum(h) > -1e3, lambda: h * 2.0 + shift, lambda: h - 1.0)

        return function

    return tf, made


def lite(tf, function):
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    return converter.convert()


@pytest.mark.parametrize(
    ("wrong", "holder", "op"), [((0.3, 0.0), "while", "LeakyRelu"), ((0.1, 0.5), "cond", "add")]
)
def test_bodies_of_tensorflow_are_entered(functions, wrong, holder, op):
    _, made = functions
    first = first_finding(made(0.1, 0.0), made(*wrong))
    assert first.node.startswith(f"{holder}/")
    assert op in first.node.rpartition("#")[2]


@pytest.mark.parametrize(
    ("wrong", "holder", "op"),
    [((0.3, 0.0), "WHILE:1/body#0/", "LEAKY_RELU"), ((0.1, 0.5), "IF:", "ADD")],
)
def test_bodies_of_tflite_are_entered(functions, wrong, holder, op):
    tf, made = functions
    first = first_finding(lite(tf, made(0.1, 0.0)), lite(tf, made(*wrong)))
    assert first.node.startswith(holder)
    assert op in first.node.rpartition("#")[2]


def test_from_tensorflow_into_a_body_of_tflite(functions):
    tf, made = functions
    first = first_finding(made(0.1, 0.0), lite(tf, made(0.3, 0.0)))
    assert first.node.startswith("WHILE:1/body#0/LEAKY_RELU")
    assert first.reference_nodes[-1].startswith("while/body#0/")


def test_from_pytorch_into_a_branch_of_onnx(tmp_path):
    torch = pytest.importorskip("torch")
    import torch.nn.functional as f

    class Net(torch.nn.Module):
        def forward(self, x):
            t = torch.tanh(x)
            return torch.cond(
                x.sum() > -1e3,
                lambda t: torch.exp(f.leaky_relu(t, 0.1)),
                lambda t: -t,
                (t,),
            )

    exported = torch.export.export(Net().eval(), (torch.from_numpy(X["x"]),))
    first = first_finding(exported, branch(alpha=0.3))
    assert first.node == "choose/then_branch#0/bend"
    assert first.reference_nodes == ("cond/body#0/leaky_relu",)
    assert isomorph.check(exported, branch(), inputs=X, in_process=True).verdict == "equivalent"


def two_states(order=("h", "c"), prefix="", slope=0.1, tail=0.2):
    """Two states that every round mixes and the node behind the loop joins."""

    def p(*names):
        return [prefix + name for name in names]

    steps = [
        helper.make_node("MatMul", [prefix + "h", "w"], p("m"), prefix + "product"),
        helper.make_node("LeakyRelu", p("m"), p("a"), prefix + "bend", alpha=slope),
        helper.make_node("Mul", p("c", "a"), p("c_next"), prefix + "gate"),
        helper.make_node("Add", p("a", "c"), p("sum"), prefix + "mix"),
        helper.make_node("LeakyRelu", p("sum"), p("h_next"), prefix + "tail", alpha=tail),
        helper.make_node("Identity", p("going"), p("go_on"), prefix + "go"),
    ]
    kinds = {"i": TensorProto.INT64, "going": TensorProto.BOOL}
    body = helper.make_graph(
        steps, "body",
        [*(info(prefix + n, [], k) for n, k in kinds.items()),
         *(info(name, [3, 4]) for name in p(*order))],
        [info(prefix + "go_on", [], TensorProto.BOOL),
         *(info(name, [3, 4]) for name in p(*(f"{n}_next" for n in order)))],
    )  # fmt: skip
    given, made = [f"{name}0" for name in order], [f"{name}_last" for name in order]
    nodes = [
        helper.make_node("Tanh", ["x"], ["h0"], "h_start"),
        helper.make_node("Sigmoid", ["x"], ["c0"], "c_start"),
        helper.make_node("Loop", ["trips", "yes", *given], made, "rounds", body=body),
        helper.make_node("Mul", ["h_last", "c_last"], ["y"], "join"),
    ]
    return model(nodes, {"w": W, "trips": np.array(4), "yes": np.array(True)})


@pytest.mark.parametrize("order", [("h", "c"), ("c", "h")])
@pytest.mark.parametrize(("wrong", "node"), [({"slope": 0.3}, "bend"), ({"tail": 0.4}, "tail")])
def test_states_in_another_order_under_other_names(order, wrong, node):
    # Both results of the loop are wrong, and what joins them is restored by neither alone.
    first = first_finding(two_states(), two_states(order, "other_", **wrong))
    assert first.node == f"rounds/body#0/other_{node}"
    assert first.reference_nodes == (f"rounds/body#0/{node}",)
    assert (first.status, first.cause) == ("confirmed", "attribute")


def test_a_scripted_branch_has_the_names_and_lines_of_its_own_program(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self, slope: float):
            super().__init__()
            self.slope = slope

        def forward(self, x):
            y = torch.tanh(x)
            if bool(y.sum() > -1000.0):
                twice = y * 2.0
                y = twice * self.slope
            return y

    paths = [tmp_path / "right.pt", tmp_path / "wrong.pt"]
    for path, slope in zip(paths, (0.7, 0.8), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scripting is going out of fashion
            torch.jit.script(Net(slope)).save(path)
    first = first_finding(*paths)
    graph = isomorph.inspect(paths[1]).graph
    names = {n.name: n for g in graph.nodes for body in g.bodies.values() for n in body.nodes}
    assert first.node in names, "no node of the model has this name"
    assert names[first.node].source == first.source
    assert first.source.file == __file__
    assert f"Mul {first.node.rpartition('/')[2]!r}" in first.summary


def test_a_finding_inside_a_body_names_the_output_of_its_error():
    report = isomorph.check(loop(), loop(alpha=0.4), inputs=X, in_process=True)
    first = report.findings[0]
    assert first.node.startswith("rounds/")
    assert first.tensors[0] == "a"
    assert "h_last" in first.tensors


class Nested:
    """A branch inside a branch, and one inside a loop, as PyTorch writes them."""

    def __init__(self, bend):
        self.bend = bend

    def branches(self, x):
        import torch

        def outer(x):
            y = torch.relu(x) + 0.1
            return torch.cond(y.mean() > 0.0, lambda y: 1.5 * self.bend(y), torch.sin, (y,))

        return torch.cond(x.sum() > -1e3, outer, lambda x: -x, (x,)) + x

    def rounds(self, x):
        import torch
        from torch._higher_order_ops.while_loop import while_loop

        def once(n, y):
            z = torch.cond(y.mean() > -5.0, lambda t: 0.7 * self.bend(t), torch.cos, (y,))
            return n + 1, 0.5 * y + z

        return while_loop(lambda n, _: n < 3, once, (torch.tensor(0), x))[1] * 2


@pytest.mark.parametrize(
    ("way", "faulty"),
    [("branches", "cond/body#0/cond/body#0/"), ("rounds", "while_loop/body#1/cond/body#0/")],
)
def test_branches_inside_bodies_of_pytorch_are_entered(way, faulty):
    torch = pytest.importorskip("torch")

    def exported(bend):
        class Net(torch.nn.Module):
            def forward(self, x):
                return getattr(Nested(bend), way)(x)

        return torch.export.export(Net().eval(), (torch.from_numpy(X["x"]),))

    first = first_finding(exported(torch.tanh), exported(torch.sigmoid))
    assert first.node == f"{faulty}sigmoid"
    assert first.reference_nodes == (f"{faulty}tanh",)
    assert first.cause == "missing_op"


def test_a_branch_inside_a_scripted_loop_is_entered(tmp_path):
    torch = pytest.importorskip("torch")
    source = """
import torch
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for i in range(3):
            if bool(y.mean() > -5.0):
                y = torch.BEND(y) * 0.7 + y * 0.5
            else:
                y = torch.cos(y)
        return y * 2
"""

    def scripted(bend):
        path = tmp_path / f"net_{bend}.py"
        path.write_text(source.replace("BEND", bend))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript is, as a whole
            torch.jit.save(torch.jit.script(module.Net().eval()), str(path.with_suffix(".pt")))
        return str(path.with_suffix(".pt"))

    first = first_finding(scripted("tanh"), scripted("sigmoid"))
    assert first.node.rpartition("/")[2].startswith("sigmoid")
    assert first.node.count("/body#0/") == 2
    assert first.cause == "missing_op"
