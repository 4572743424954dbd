"""What a proof takes ONNX's operators to mean, held to the backend node tests of ONNX."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph.frameworks.onnx.meanings import MEANINGS
from isomorph.proof.term import NoMeaningError
from spelled_values import side_of, spelled_values

MOST = 16
"""Cases of one operator."""

WHOLE = {"Resize"}
"""Operators of which every case is another option."""

KNOWN = {op for op in MEANINGS.spelled if "::" not in op} - {
    "SimplifiedLayerNormalization",
    "IsNaN",
    "Loop",
}
"""All but ONNX Runtime's, one of which the suite asks for inputs that are not finite, and loops,
of which ``test_control_flow_meanings.py`` has cases."""

TOLERANCE = {"float64": 1e-7, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture(scope="module")
def outcomes():
    """What each case of an operator with a meaning gave: agreement, a refusal, or a difference."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = defaultdict(dict)
        for case in load_model_tests(kind="node"):
            nodes = case.model.graph.node
            known = len(nodes) == 1 and not nodes[0].domain and nodes[0].op_type in KNOWN
            # The longest suites repeat one form for every rank and type.
            if known and (len(found[nodes[0].op_type]) < MOST or nodes[0].op_type in WHOLE):
                for inputs, expected in case.data_sets[:1]:
                    found[nodes[0].op_type][case.name] = outcome(case.model, inputs, expected)
        return found


def outcome(model, inputs, expected):
    """Whole numbers, such as axes and shapes, become constants; the rest stays an input."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    names = [each.name for each in model.graph.input]
    if model.graph.node[0].op_type in ("LayerNormalization", "Dropout", "MaxPool"):
        # Their further outputs have no meaning; the first does not depend on them.
        del model.graph.output[1:], model.graph.node[0].output[1:]
    feeds = {}
    for place, (name, value) in enumerate(zip(names, inputs, strict=False)):
        array = (
            None
            if isinstance(value, list)
            else np.asarray(
                numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
            )
        )
        if array is None or array.dtype.kind not in "fiub":
            return "refused: not numbers"
        stated = model.graph.node[0].op_type == "Resize"
        if place and (array.dtype.kind == "i" or stated):
            model.graph.initializer.append(numpy_helper.from_array(array, name))
            kept = [each for each in model.graph.input if each.name != name]
            del model.graph.input[:]
            model.graph.input.extend(kept)
        else:
            feeds[name] = array
    try:
        made, _ = spelled_values(model, feeds)
    except NoMeaningError as error:
        return f"refused: {error.why}"
    except Exception as error:
        return f"failed: {error}"
    if isinstance(made, str):
        return f"refused: {made}"
    for value, other in zip(made, expected, strict=False):
        one = np.asarray(value)
        wanted = numpy_helper.to_array(other) if isinstance(other, onnx.TensorProto) else other
        wanted = np.asarray(wanted)
        if wanted.shape != one.shape:
            return f"differs: shape {one.shape} for {wanted.shape}"
        allowed = TOLERANCE.get(str(wanted.dtype), 0.0)
        if wanted.dtype.kind not in "iub":
            one, wanted = one.astype(np.float64), wanted.astype(np.float64)
        scale = np.abs(wanted[np.isfinite(wanted)].astype(np.float64)).max(initial=1e-30)
        allowed *= scale
        with np.errstate(all="ignore"):
            off = np.abs(one.astype(np.float64) - wanted.astype(np.float64))
        same = (off <= allowed) | (one == wanted) | (np.isnan(one) & np.isnan(wanted))
        if not same.all():
            return f"differs: by {off.max()}"
    return "agrees"


def test_no_meaning_differs_from_the_suite(outcomes):
    wrong = {
        name: what
        for cases in outcomes.values()
        for name, what in cases.items()
        if not what.startswith(("agrees", "refused"))
    }
    assert not wrong, wrong


def test_every_operator_agrees_somewhere(outcomes):
    lonely = [op for op in KNOWN if "agrees" not in outcomes[op].values()]
    assert not lonely, {op: outcomes[op] for op in lonely}


def test_a_finite_tensor_is_nowhere_nan():
    """What may be no number is an unknown function; what is finite is false."""
    f32 = onnx.TensorProto.FLOAT
    nodes = [
        onnx.helper.make_node("Log", ["x"], ["l"]),
        onnx.helper.make_node("IsNaN", ["l"], ["unknown"]),
        onnx.helper.make_node("Softmax", ["x"], ["s"]),
        onnx.helper.make_node("IsNaN", ["s"], ["known"]),
    ]
    outputs = [onnx.helper.make_tensor_value_info(n, 9, [2, 3]) for n in ("unknown", "known")]
    x = onnx.helper.make_tensor_value_info("x", f32, [2, 3])
    graph = onnx.helper.make_graph(nodes, "g", [x], outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    side, _ = side_of(model, {"x": np.ones((2, 3), np.float32)})
    for node in side.graph.nodes:
        assert side.spell(node) is not None
    assert side.read("unknown").op == "function"
    assert not side.read("known").value().any()


POOLED = [
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1, "pads": [1, 0, 1, 0],
     "count_include_pad": 1},
    {"kernel_shape": [64, 64], "strides": [64, 64], "ceil_mode": 1, "count_include_pad": 1},
    {"kernel_shape": [4, 20], "strides": [2, 20], "ceil_mode": 1},
]  # fmt: skip


@pytest.mark.parametrize("opset", [17, 19, 22])
@pytest.mark.parametrize("options", POOLED)
def test_a_mean_over_windows_beyond_the_border_is_that_of_onnx_runtime(opset, options):
    ort = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    node = helper.make_node("AveragePool", ["x"], ["y"], **options)
    ends = [helper.make_tensor_value_info("x", 1, [1, 2, 6, 8]),
            helper.make_tensor_value_info("y", 1, None)]  # fmt: skip
    model = helper.make_model(
        helper.make_graph([node], "g", ends[:1], ends[1:]), ir_version=10,
        opset_imports=[helper.make_opsetid("", opset)],
    )  # fmt: skip
    x = np.random.default_rng(0).normal(size=(1, 2, 6, 8)).astype(np.float32)
    (expected,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    made, _ = spelled_values(model, {"x": x})
    unsettled = opset < 19 and options.get("count_include_pad") and any(options.get("pads", ()))
    if unsettled:
        assert isinstance(made, str)
        return
    np.testing.assert_allclose(np.asarray(made[0]), expected, rtol=1e-5, atol=1e-6)


UNSETTLED = {
    "MaxPool": {"kernel_shape": [2, 2], "dilations": [2, 2], "auto_pad": "SAME_UPPER"},
    "Slice": ([0, 0, 2], [1, 2, np.iinfo(np.int64).max], [0, 1, 2], [1, 1, -1]),
    "Resize": (np.float32([]), np.float32([1, 1, 1, 1.3])),
}
"""What ONNX Runtime does otherwise than ONNX says: a border, an end and a ratio."""


@pytest.mark.parametrize("op", sorted(UNSETTLED))
def test_what_runtimes_compute_otherwise_than_stated_is_refused(op):
    helper, stated = onnx.helper, UNSETTLED[op]
    constants = [] if isinstance(stated, dict) else [np.asarray(each) for each in stated]
    options = stated if isinstance(stated, dict) else {}
    options = {"mode": "linear"} if op == "Resize" else options
    names = [f"c{place}" for place in range(len(constants))]
    node = helper.make_node(op, ["x", *names], ["y"], **options)
    ends = [helper.make_tensor_value_info("x", 1, [1, 2, 6, 3]),
            helper.make_tensor_value_info("y", 1, None)]  # fmt: skip
    stored = [numpy_helper.from_array(x, name) for x, name in zip(constants, names, strict=True)]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], stored)
    opsets = [helper.make_opsetid("", 19)]
    model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    made, _ = spelled_values(model, {"x": np.ones((1, 2, 6, 3), np.float32)})
    assert isinstance(made, str)
