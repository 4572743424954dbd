"""Differences that the given inputs never reach: reported, and decided by an input found."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.reporters.json import as_json

RNG = np.random.default_rng(2)
W = RNG.normal(size=(6, 6)).astype(np.float32) * 0.2
SMALL = {"x": np.abs(RNG.normal(size=(4, 6))).astype(np.float32)}


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(*nodes, weights=(), shape=(4, 6)):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"], "before"),
         helper.make_node("Abs", ["m"], ["p"], "size"), *nodes,
         helper.make_node("MatMul", ["q", "w2"], ["y"], "after")],
        "g", [info("x", [4, 6])], [info("y", list(shape))],
        [numpy_helper.from_array(np.asarray(v), n)
         for n, v in {"w": W, "w2": W, **dict(weights)}.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def clipped(top):
    bounds = {"low": np.float32(0), "high": np.float32(top)}
    return model(helper.make_node("Clip", ["p", "low", "high"], ["q"], "clip"), weights=bounds)


def leaky(alpha):
    return model(helper.make_node("LeakyRelu", ["p"], ["q"], "bend", alpha=alpha))


def padded(mode):
    """The border is zero, so constant and edge padding agree."""
    mask = np.zeros((4, 6), np.float32)
    mask[1:-1, 1:-1] = 1.0
    nodes = [
        helper.make_node("Mul", ["p", "mask"], ["inner"], "mask_out"),
        helper.make_node("Unsqueeze", ["inner", "axes"], ["four"], "raise"),
        helper.make_node("Pad", ["four", "pads"], ["wide"], "pad", mode=mode),
        helper.make_node("AveragePool", ["wide"], ["pooled"], "pool", kernel_shape=[3, 3]),
        helper.make_node("Squeeze", ["pooled", "axes"], ["q"], "flat"),
    ]
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    return model(*nodes, weights={"mask": mask, "pads": pads, "axes": np.array([0, 1])})


def branched(alpha):
    def graph(name, *nodes):
        return helper.make_graph(list(nodes), name, [], [info(f"{name}_out", [4, 6])])

    then = graph("then", helper.make_node("Tanh", ["p"], ["then_out"], "usual"))
    other = graph("else", helper.make_node("LeakyRelu", ["m"], ["else_out"], "rare", alpha=alpha))
    return model(
        helper.make_node("ReduceMax", ["p"], ["top"], "top", keepdims=0),
        helper.make_node("Less", ["top", "limit"], ["calm"], "calm"),
        helper.make_node("If", ["calm"], ["q"], "choose", then_branch=then, else_branch=other),
        weights={"limit": np.float32(30.0)},
    )


def check(right, wrong, **options):
    options = {"inputs": SMALL, **options}
    return isomorph.check(right, wrong, in_process=True, **options)


def latent(report):
    return [finding for finding in report.findings if finding.effect == "latent"]


ONLY_GIVEN = isomorph.CheckOptions(only_given=True)


@pytest.mark.parametrize(
    ("right", "wrong", "node", "verdict"),
    [
        (leaky(0.1), leaky(0.3), "bend", "equivalent"),
        (branched(0.1), branched(0.3), "choose", "divergent"),
    ],
    ids=["slope", "branch"],
)
def test_what_the_inputs_never_reach_decides_where_one_is_found(right, wrong, node, verdict):
    """The slope is behind an absolute value, which no input makes negative."""
    report = check(right, wrong)
    assert report.verdict == verdict
    if verdict == "divergent":
        assert report.reason.startswith("the same on the given input, but attribute alpha of node")
        assert report.reason.endswith("differs (0.1 against 0.3)")
    assert check(right, wrong, options=ONLY_GIVEN).verdict == "equivalent"
    [found] = latent(report)
    assert (found.code, found.node, found.status) == ("LATENT", node, "confirmed")
    assert found.reference_nodes == (node,)
    assert not latent(check(right, right))
    unlocated = check(right, wrong, options=isomorph.CheckOptions(locate=False))
    assert unlocated.verdict == verdict


def test_a_limit_that_is_a_stored_constant_makes_another_function():
    report = check(clipped(6.0), clipped(8.0))
    assert report.verdict == "divergent"
    [found] = [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]
    assert (found.node, found.status) == ("clip", "confirmed")
    assert (
        check(clipped(6.0), clipped(8.0), options=isomorph.CheckOptions(only_given=True)).verdict
        == "equivalent"
    )


def test_a_pad_mode_over_zero_borders_is_latent():
    report = check(padded("constant"), padded("edge"))
    assert report.verdict == "equivalent"
    assert [finding.node for finding in latent(report)] == ["pad"]
    assert not any(each.what == "attributes that differ" for each in report.skipped)


def test_a_clip_that_is_missing_is_named_by_its_consumer():
    bare = model(helper.make_node("Identity", ["p"], ["q"], "nothing"))
    report = check(clipped(6.0), bare)
    assert report.verdict == "divergent"
    assert check(clipped(6.0), bare, options=ONLY_GIVEN).verdict == "equivalent"
    [found] = latent(report)
    assert found.node in {"nothing", "after"}
    assert found.reference_nodes == ("clip",)


def test_the_search_gives_an_input_that_reaches_it(tmp_path):
    report = check(clipped(6.0), clipped(8.0))
    [found] = latent(report)
    assert "times" in found.evidence["reached_by"]
    assert "differs on" in found.summary
    (tmp_path / "report.json").write_text(as_json(report))
    again = check(clipped(6.0), clipped(8.0), inputs=tmp_path / "report.json")
    assert again.verdict == "divergent"
    assert again.findings[0].node == "clip"


def test_what_no_input_can_reach_is_reported_as_not_reached():
    report = check(leaky(0.1), leaky(0.3))
    [found] = latent(report)
    assert "reached_by" not in found.evidence
    assert found.evidence["inputs_tried"] > 1
    assert found.summary.endswith(f"{found.evidence['inputs_tried']} others show it")


def test_made_up_inputs_are_no_excuse():
    report = isomorph.check(clipped(6.0), clipped(8.0), in_process=True)
    assert report.verdict == "divergent"
    assert report.reason.startswith("the same on the generated inputs")


def test_another_spelling_of_the_same_is_not_latent():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x):
            m = torch.abs(x @ torch.from_numpy(W))
            return torch.nn.functional.relu6(m) @ torch.from_numpy(W)

    exported = torch.export.export(Net(), (torch.from_numpy(SMALL["x"]),))
    assert not latent(check(exported, clipped(6.0)))
    assert [found.node for found in latent(check(exported, clipped(8.0)))] == ["clip"]


def test_a_slope_is_compared_between_frameworks():
    torch = pytest.importorskip("torch")
    right = np.abs(W)

    class Net(torch.nn.Module):
        def forward(self, x):
            m = torch.nn.functional.leaky_relu(x @ torch.from_numpy(right), 0.1)
            return m @ torch.from_numpy(W)

    def written(alpha, narrow):
        stored = np.float16 if narrow else np.float32
        nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16 if narrow else 1),
                 helper.make_node("MatMul", ["h", "w"], ["m"]),
                 helper.make_node("LeakyRelu", ["m"], ["q"], "bend", alpha=alpha),
                 helper.make_node("MatMul", ["q", "w2"], ["r"]),
                 helper.make_node("Cast", ["r"], ["y"], to=1)]  # fmt: skip
        held = [numpy_helper.from_array(v.astype(stored), n) for n, v in (("w", right), ("w2", W))]
        graph = helper.make_graph(nodes, "g", [info("x", [4, 6])], [info("y", [4, 6])], held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    exported = torch.export.export(Net(), (torch.from_numpy(SMALL["x"]),))
    for narrow in (False, True):
        assert check(exported, written(0.1, narrow)).verdict in {"equivalent", "degraded"}
        report = check(exported, written(0.2, narrow))
        assert report.verdict == "divergent"
        assert report.reason.endswith("attribute alpha of node 'bend' differs (0.1 against 0.2)")


@pytest.mark.parametrize("size", [5, 20])
def test_an_overflow_makes_no_other_function(size):
    """log(1 + exp(x)) is softplus, and infinite in float32 from 89 on, in float64 from 710."""
    written_out = [
        helper.make_node("Exp", ["p"], ["e"], "grow"),
        helper.make_node("Add", ["e", "one"], ["f"], "add"),
        helper.make_node("Log", ["f"], ["q"], "log"),
    ]
    plain = model(helper.make_node("Softplus", ["p"], ["q"], "soft"))
    other = model(*written_out, weights={"one": np.float32(1)})
    given = {"x": SMALL["x"] * np.float32(size)}
    report = isomorph.check(plain, other, inputs=given, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    [finding] = report.findings
    assert finding.code == "LATENT"
