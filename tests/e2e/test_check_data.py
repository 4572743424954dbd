"""`check --data`: many samples, of which only one shows the fault."""

import json

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.errors import UsageError
from isomorph.reporters.json import schema
from warm_process import isomorph as command


def _model(nodes, weights, shape, result):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def classifier(ceiling):
    """The fault: values are cut at a ceiling that few samples reach."""
    weight = np.random.default_rng(0).standard_normal((6, 4))
    nodes = [
        helper.make_node("Clip", ["x", "", "ceiling"], ["c"], name="clip"),
        helper.make_node("MatMul", ["c", "w"], ["y"], name="head"),
    ]
    return _model(nodes, {"w": weight, "ceiling": ceiling}, ["batch", 6], ["batch", 4])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set")
    onnx.save(classifier(100.0), folder / "net.onnx")
    onnx.save(classifier(5.0), folder / "cut.onnx")
    draw = np.random.default_rng(1)
    (folder / "samples").mkdir()
    for place in range(10):
        x = draw.standard_normal((1, 6)).astype(np.float32)
        x[0, 2] = 9.0 if place == 6 else x[0, 2]
        label = np.array([place % 4])
        np.savez(folder / "samples" / f"s{place}.npz", x=x, label=label)
    (folder / "scores.py").write_text(
        "def top1(outputs, sample):\n"
        "    return float((outputs['y'].argmax(-1) == sample['label']).mean())\n"
    )
    return folder


def test_one_sample_in_ten_decides(folder):
    line = ("check", "net.onnx", "cut.onnx", "--data", "samples", "--metric", "scores:top1")
    done = command(folder, *line, "--trust", "--format", "json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(report)
    assert report["verdict"] == "divergent"
    test_set = report["test_set"]
    assert (test_set["samples"], test_set["examined"]) == (10, ["s6.npz"])
    output = test_set["outputs"][0]
    assert output["worst"] == "s6.npz"
    assert output["worst_ratio"] > 100
    assert output["quantiles"]["0.75"] == 0.0
    assert test_set["metric"]["samples"] == 10
    assert {each["origin"] for each in report["inputs"]} == {"s6.npz"}
    assert report["findings"][0]["node"] == "clip"
    refused = command(folder, *line)
    assert (refused.returncode, "error[METRIC_NEEDS_TRUST]" in refused.stderr) == (4, True)


def test_the_same_model_is_equivalent_on_all_of_them(folder):
    stacked = [np.load(folder / "samples" / f"s{n}.npz")["x"] for n in range(10)]
    np.save(folder / "all.npy", np.concatenate(stacked))
    report = isomorph.check(
        folder / "net.onnx", folder / "net.onnx", data=folder / "all.npy", in_process=True
    )
    assert (report.verdict, report.exit_code) == ("equivalent", 0)
    assert report.test_set.samples == 10
    assert report.test_set.outputs[0].label_agreement == 1.0
    alone = isomorph.check(folder / "net.onnx", data=folder / "all.npy", in_process=True)
    assert alone.verdict == "equivalent"
    assert 0 < alone.test_set.outputs[0].worst_relative < 1e-6
    assert 0 < alone.test_set.outputs[0].worst_ratio <= 1


def test_nan_in_one_sample_is_divergent(folder, tmp_path):
    nodes = [helper.make_node("Sqrt", ["x"], ["y"], name="root")]
    onnx.save(_model(nodes, {}, ["batch", 6], ["batch", 6]), tmp_path / "sqrt.onnx")
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Sqrt", ["a"], ["y"])]
    onnx.save(_model(nodes, {}, ["batch", 6], ["batch", 6]), tmp_path / "safe.onnx")
    x = np.random.default_rng(2).uniform(0.5, 1.0, (8, 6)).astype(np.float32)
    x[5, 1] = -1.0
    np.save(tmp_path / "all.npy", x)
    report = isomorph.check(
        tmp_path / "safe.onnx", tmp_path / "sqrt.onnx", data=tmp_path / "all.npy", in_process=True
    )
    assert report.verdict == "divergent"
    assert report.test_set.outputs[0].worst == "all.npy[5]"
    assert report.test_set.outputs[0].nonfinite_mismatch == 1
    assert "OUTPUT_NOT_FINITE" in {finding.code for finding in report.findings}


def test_a_recurrent_model_shows_its_error_by_time_step(tmp_path):
    draw = np.random.default_rng(3)
    weights = {"w": draw.standard_normal((1, 12, 3)) * 0.4, "r": draw.standard_normal((1, 12, 4))}

    def network(scale):
        nodes = [
            helper.make_node("GRU", ["x", "w", "r"], ["h"], name="gru", hidden_size=4, layout=0),
            helper.make_node("Squeeze", ["h", "axes"], ["y"], name="squeeze"),
        ]
        model = _model(nodes, {**weights, "r": weights["r"] * scale}, [9, 1, 3], [9, 1, 4])
        model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axes"))
        return model

    onnx.save(network(1.0), tmp_path / "a.onnx")
    onnx.save(network(1.01), tmp_path / "b.onnx")
    np.save(tmp_path / "all.npy", draw.standard_normal((4, 9, 1, 3)).astype(np.float32))
    report = isomorph.check(
        tmp_path / "a.onnx", tmp_path / "b.onnx", data=tmp_path / "all.npy", in_process=True
    )
    assert report.verdict == "divergent"
    assert report.test_set.samples == 4
    profiles = {each.axis: each for each in report.test_set.outputs[0].by_axis}
    assert profiles.keys() == {0, 2}
    steps = profiles[0]
    assert (steps.length, steps.input) == (9, "x")
    assert steps.relative[0] == 0.0, "the recurrent weight has no effect on the first step"
    assert steps.relative[-1] > 1e-3


def test_options_that_contradict_each_other(folder, tmp_path):
    x = np.zeros((1, 6), np.float32)
    np.savez(tmp_path / "recorded.npz", y=np.zeros((1, 4), np.float32))
    data = folder / "samples"
    for reference, words in (
        (folder / "net.onnx", {"data": data, "inputs": {"x": x}}),
        (folder / "net.onnx", {"options": isomorph.CheckOptions(metric="scores:top1")}),
        (tmp_path / "recorded.npz", {"data": data}),
    ):
        with pytest.raises(UsageError) as caught:
            isomorph.check(reference, folder / "net.onnx", in_process=True, **words)
        assert caught.value.code == "BAD_OPTION"


def test_an_empty_folder(folder, tmp_path):
    done = command(folder, "check", "net.onnx", "cut.onnx", "--data", str(tmp_path))
    assert (done.returncode, "error[NO_SAMPLES]" in done.stderr) == (2, True)
