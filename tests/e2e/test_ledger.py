"""Nothing that was not compared passes: samples, rows, recorded outputs, sequences."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from warm_process import isomorph as command

F = TensorProto.FLOAT
ROW = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def model(nodes, inputs, outputs, constants=None):
    made = [
        helper.make_node(op, ins.split(), outs.split(), f"{op}_{outs.split()[0]}", **attributes)
        for op, ins, outs, attributes in nodes
    ]
    specs = [
        [helper.make_tensor_value_info(name, *about) for name, about in side.items()]
        for side in (inputs, outputs)
    ]
    stored = [numpy_helper.from_array(np.asarray(a), k) for k, a in (constants or {}).items()]
    graph = helper.make_graph(made, "g", *specs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def check(*models, only_given=False, layouts=None, **arguments):
    options = isomorph.CheckOptions(locate=False, only_given=only_given, layouts=layouts or {})
    return isomorph.check(*models, in_process=True, options=options, **arguments)


def several(count, *, bad=None, jump=0.5):
    """Heads of one input; behind the last, ``jump`` is added where an element exceeds ``bad``."""
    rng, nodes, stored = np.random.default_rng(3), [], {"ax": np.array([1], np.int64)}
    for place in range(count):
        weight = rng.normal(size=(8, 1)).astype(np.float32)
        last = place == count - 1 and bad is not None
        stored[f"v{place}"] = np.ascontiguousarray(weight.T)
        nodes += [
            ("Mul", f"x v{place}", f"a{place}", {}),
            ("ReduceSum", f"a{place} ax", "s" if last else f"y{place}", {"keepdims": 1}),
        ]
    if bad is not None:
        nodes += [
            ("ReduceMax", "x", "m", {"keepdims": 0}),
            ("Greater", "m bad", "c", {}),
            ("Where", "c jump zero", "b", {}),
            ("Add", "s b", f"y{count - 1}", {}),
        ]
        stored.update(bad=np.float32(bad), jump=np.float32(jump), zero=np.float32(0))
    outputs = {f"y{place}": (F, [1, 1]) for place in range(count)}
    return model(nodes, {"x": (F, [1, 8])}, outputs, stored)


@pytest.mark.parametrize("at", [0, 11, 23])
@pytest.mark.parametrize("jump", [0.5, 1e-4])
def test_a_fault_of_one_sample_is_found_in_company(tmp_path, at, jump):
    data = np.clip(np.random.default_rng(5).normal(size=(24, 8)), -3, 3).astype(np.float32)
    data[at, 0] = 5
    np.savez(tmp_path / "data.npz", x=data)
    pair = several(4), several(4, bad=4.5, jump=jump)
    assert check(*pair, inputs={"x": data[at : at + 1]}).verdict == "divergent", "alone"
    report = check(*pair, data=tmp_path / "data.npz")
    assert report.verdict == "divergent"
    assert f"data.npz[{at}]" in report.test_set.examined


def test_all_samples_of_a_clean_set_are_in_the_headline(tmp_path):
    data = np.random.default_rng(5).normal(size=(9, 8)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=data)
    report = check(several(3), several(3, bad=1e9), data=tmp_path / "data.npz")
    assert report.headline == "EQUIVALENT on 9 of 9 samples of data.npz"
    assert [each.within for each in report.coverage.outputs] == [9, 9, 9]
    assert all(each.worst_ratio is not None for each in report.test_set.outputs)


def limited(bound, rows=2):
    spec = {"x": (F, [rows, 3])}, {"y": (F, [rows, 3])}
    nodes = [("Mul", "x k", "a", {}), ("Min", "a c", "y", {})]
    return model(nodes, *spec, {"k": np.float32(2), "c": np.float32(bound)})


def test_rows_that_fill_no_batch_are_compared(tmp_path):
    rest = np.ones((5, 3), np.float32)
    np.savez(tmp_path / "rest.npz", x=rest)
    # The limits themselves differ: asked about the samples alone, these are compared.
    report = check(limited(1e9), limited(7), data=tmp_path / "rest.npz", only_given=True)
    assert report.headline == "EQUIVALENT on 3 of 3 samples of rest.npz only"
    rest[4] = 100
    np.savez(tmp_path / "rest.npz", x=rest)
    found = check(limited(1e9), limited(7), data=tmp_path / "rest.npz", only_given=True)
    assert found.verdict == "divergent"


def two():
    nodes = [("Mul", "x k", "a", {}), ("Add", "x j", "b", {})]
    spec = F, [2, 3]
    stored = {"k": np.float32(2), "j": np.float32(3)}
    return model(nodes, {"x": spec}, {"a": spec, "b": spec}, stored)


def test_a_recorded_output_that_the_model_lacks_is_not_passed_over(tmp_path):
    right = {"a": ROW * 2, "b": ROW + 3}
    np.savez(tmp_path / "whole.npz", **right)
    inputs = {"x": ROW}
    report = check(tmp_path / "whole.npz", two(), inputs=inputs)
    assert report.headline == "EQUIVALENT on 1 given input"
    np.savez(tmp_path / "more.npz", **right, c=ROW)
    report = check(tmp_path / "more.npz", two(), inputs=inputs)
    assert (report.verdict, report.exit_code) == ("unknown", 3)
    assert "'c'" in report.reason
    np.savez(tmp_path / "inputs.npz", **right, x=ROW)
    assert check(tmp_path / "inputs.npz", two(), inputs=inputs).verdict == "equivalent"


def test_an_output_that_the_candidate_lacks_is_in_the_ledger():
    nodes = [("Mul", "x k", "a", {})]
    spec = F, [2, 3]
    one = model(nodes, {"x": spec}, {"a": spec}, {"k": np.float32(2)})
    report = check(two(), one, inputs={"x": ROW})
    assert report.verdict == "divergent"
    counts = {each.output: (each.within, each.beyond) for each in report.coverage.outputs}
    assert counts == {"a": (1, 0), "b": (0, 1)}
    assert {f.code for f in report.findings if f.cause == "interface"} >= {"OUTPUT_MISSING"}


def split(sizes, last=None):
    """The input cut into a sequence; ``last`` drops its end where the first element is larger."""
    spec = {"x": (F, [4])}
    value = helper.make_tensor_sequence_value_info("y", F, None)
    nodes = [helper.make_node("SplitToSequence", ["x", "s"], ["y"], "split", axis=0)]
    stored = [numpy_helper.from_array(np.array(sizes, np.int64), "s")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", *spec["x"])], [value], stored
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_a_shorter_sequence_is_divergent():
    inputs = {"x": np.arange(4, dtype=np.float32)}
    report = check(split([2, 1, 1]), split([2, 2]), inputs=inputs)
    assert report.verdict == "divergent"
    assert {each.output for each in report.coverage.outputs} == {"y[0]", "y[1]", "y[2]"}
    assert check(split([2, 1, 1]), split([2, 1, 1]), inputs=inputs).coverage.complete


def test_the_command_line_shows_what_is_covered(tmp_path):
    onnx.save(two(), tmp_path / "a.onnx")
    words = ["check", "a.onnx", "a.onnx", "--in-process"]
    done = command(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EQUIVALENT on 2 generated inputs  ")
    written = command(tmp_path, *words, "--format", "json")
    covered = json.loads(written.stdout)["coverage"]
    assert (covered["generated"], covered["given"]) == (2, 0)
    assert [each["within"] for each in covered["outputs"]] == [2, 2]


@pytest.mark.parametrize("word", ["-1", "nan", "y=-0.5", "inf"])
def test_the_command_line_refuses_a_budget_below_zero(tmp_path, word):
    onnx.save(two(), tmp_path / "a.onnx")
    done = command(tmp_path, "check", "a.onnx", "a.onnx", f"--budget={word}")
    assert (done.returncode, "--budget" in done.stderr) == (2, True)


def test_a_budget_of_a_sequence_holds_for_its_elements():
    spec = [helper.make_tensor_value_info("x", F, [4])]

    def made(added):
        nodes = [
            helper.make_node("Add", ["x", "k"], ["a"], "add"),
            helper.make_node("SplitToSequence", ["a", "s"], ["y"], "split", axis=0),
        ]
        stored = [
            numpy_helper.from_array(np.array([1, 3], np.int64), "s"),
            numpy_helper.from_array(np.float32(added), "k"),
        ]
        value = helper.make_tensor_sequence_value_info("y", F, None)
        graph = helper.make_graph(nodes, "g", spec, [value], stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    inputs = {"x": np.arange(4, dtype=np.float32)}
    pair = made(1.0), made(1.25)
    assert check(*pair, inputs=inputs).verdict == "divergent"
    assert check(*pair, inputs=inputs, budget={"y": 0.5}).verdict == "equivalent"
    assert check(*pair, inputs=inputs, budget={"y": 0.1}).verdict == "divergent"
    budgets = {"y": 0.5, "y[1]": 0.1}
    report = check(*pair, inputs=inputs, budget=budgets)
    verdicts = {each.reference_output: each.verdict.value for each in report.outputs}
    assert verdicts == {"y[0]": "equivalent", "y[1]": "divergent"}


def doubled(factor=2.0):
    nodes = [("Mul", "x k", "y", {})]
    shapes = {"x": (F, [2, 3])}, {"y": (F, [2, 3])}
    return model(nodes, *shapes, {"k": np.float32(factor)})


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_budget_of_zero_lets_nothing_pass(zero):
    report = check(doubled(), doubled(2.5), inputs={"x": ROW}, budget=zero)
    assert report.verdict == "divergent"


def test_a_layout_that_is_no_order_of_axes_is_refused():
    with pytest.raises(isomorph.IsomorphError, match="no order of axes"):
        check(doubled(), doubled(), inputs={"x": ROW}, layouts={"y": (0, 0)})


def test_a_recorded_element_beside_its_whole_is_not_passed_over(tmp_path):
    np.savez(tmp_path / "kept.npz", **{"y": 2 * ROW, "y[0]": ROW})
    report = check(tmp_path / "kept.npz", doubled(), inputs={"x": ROW})
    assert (report.verdict, report.exit_code) == ("unknown", 3)
    assert "'y[0]'" in report.reason
