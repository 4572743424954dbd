"""A trace stands in the place of a model: recorded here, compared elsewhere."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph import api
from isomorph.__main__ import main
from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.store.trace_files import INDEX, read_record, save_record

RNG = np.random.default_rng(3)
W1, W2 = (RNG.normal(size=(6, 6)).astype(np.float32) for _ in range(2))


def model(alpha=0.1, second=W2):
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], "first"),
        helper.make_node("LeakyRelu", ["a"], ["b"], "bend", alpha=alpha),
        helper.make_node("MatMul", ["b", "w2"], ["c"], "second"),
        helper.make_node("Softmax", ["c"], ["y"], "soft"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 6])],
        [numpy_helper.from_array(W1, "w1"), numpy_helper.from_array(second, "w2")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("traces")
    onnx.save(model(), place / "right.onnx")
    onnx.save(model(alpha=0.3), place / "wrong.onnx")
    for name in ("right", "wrong"):
        path = place / f"{name}.onnx"
        api.trace(path, output=place / name, in_process=True)
        api.trace(path, output=place / f"{name}-values", oracle=False, in_process=True)
    return place


def check(one, other, **options):
    return isomorph.check(one, other, in_process=True, **options)


def test_a_record_survives_the_disk(folder):
    record = read_record(folder / "right")
    assert list(record.run.tensors) == ["a", "b", "c", "y"]
    assert record.model.graph.nodes[1].attributes["alpha"] == pytest.approx(0.1)
    assert record.inputs["x"].shape == (4, 6)
    assert record.oracle.tensors["c"].dtype == np.float64
    rms, peak = record.oracle.spread["rounding"]["c"]
    assert 0 < rms <= peak
    assert np.array_equal(record.untouched["y"], record.written["y"])


def test_a_trace_has_the_sizes_it_was_recorded_at(folder):
    with pytest.raises(UsageError, match="recorded at one size"):
        check(folder / "right", folder / "wrong", dims={"n": 3})


def test_a_trace_is_the_reference_of_its_own_model(folder):
    report = check(folder / "right", folder / "right.onnx")
    assert report.verdict == "equivalent"
    assert report.outputs[0].rounding.budget.ratio <= 1.0, "the recorded oracle was compared"


def test_a_recorded_reference_convicts_as_its_model_would(folder):
    recorded = check(folder / "right", folder / "wrong.onnx")
    there = check(folder / "right.onnx", folder / "wrong.onnx")
    first, same = recorded.findings[0], there.findings[0]
    assert (first.code, first.node, first.status) == ("GUILTY_NODE", "bend", "confirmed")
    assert (same.code, same.node, same.status) == (first.code, first.node, first.status)
    assert len(there.inputs) > len(recorded.inputs) == 1, "a trace brings its one sample"


@pytest.mark.parametrize("reference", ["right", "right.onnx"])
def test_a_recorded_candidate_is_suspected_not_convicted(folder, reference):
    report = check(folder / reference, folder / "wrong")
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert (first.code, first.node, first.status) == ("FIRST_APART", "bend", "suspected")
    assert any("trace" in each.why for each in report.skipped)


def test_two_traces_of_one_model_agree(folder, tmp_path):
    settings = {"optimization": "none"}
    api.trace(
        folder / "right.onnx",
        output=tmp_path / "t",
        in_process=True,
        options=api.RuntimeOptions(settings=settings),
    )
    report = check(folder / "right", tmp_path / "t")
    assert report.verdict == "equivalent"
    assert report.environments["candidate run"].settings["optimization"] == "none"


def test_a_run_that_leaves_its_oracle_is_seen_in_its_trace(folder, tmp_path):
    record = read_record(folder / "right")
    bent = {name: np.array(value) for name, value in record.run.tensors.items()}
    for name in ("b", "c", "y"):
        bent[name] = bent[name] * 0.5
    run = replace(record.run, tensors=bent)
    save_record(replace(record, run=run, untouched={"y": bent["y"]}), tmp_path / "bent")
    report = check(folder / "right.onnx", tmp_path / "bent")
    assert report.verdict == "divergent"
    assert report.findings[0].node == "bend"
    assert "float64" in report.findings[0].summary


def test_without_any_oracle_only_the_last_bit_is_certain(folder):
    same = check(folder / "right-values", folder / "right-values")
    assert (same.verdict, same.reason) == (
        "equivalent", "the recorded values are the same to the last bit",
    )  # fmt: skip
    other = check(folder / "right-values", folder / "wrong-values")
    assert other.verdict == "unknown"
    assert {f.code: f.node for f in other.findings}["FIRST_DIFFERENCE"] == "bend"
    stated = check(folder / "right-values", folder / "wrong-values", budget=10.0)
    assert stated.verdict == "equivalent"


@pytest.mark.parametrize("sides", [("right-values", "wrong.onnx"), ("right.onnx", "wrong-values")])
def test_one_oracle_judges_values(folder, sides):
    report = check(*(folder / side for side in sides))
    assert report.verdict == "divergent"
    assert any("--no-oracle" in each.why for each in report.skipped)
    one, other = (folder / side.replace("wrong", "right") for side in sides)
    assert check(one, other).verdict == "equivalent"


def test_a_trace_brings_its_own_inputs(folder, tmp_path):
    with pytest.raises(UsageError, match="its own inputs"):
        check(folder / "right", folder / "right.onnx", inputs={"x": np.zeros((4, 6), np.float32)})
    api.trace(folder / "right.onnx", output=tmp_path / "other", seed=5, in_process=True)
    with pytest.raises(UsageError, match="other inputs"):
        check(folder / "right", tmp_path / "other")


def test_a_damaged_trace_is_refused(folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(folder / "right", broken)
    index = json.loads((broken / INDEX).read_text())
    index["seed"] = 99
    (broken / INDEX).write_text(json.dumps(index))
    with pytest.raises(UnreadableModelError) as caught:
        check(broken, folder / "right.onnx")
    assert "does not match its digest" in caught.value.why
    shutil.rmtree(broken / "inputs")
    shutil.copytree(folder / "wrong" / "oracle", broken / "inputs")
    shutil.copy(folder / "right" / INDEX, broken / INDEX)
    with pytest.raises(UnreadableModelError) as caught:
        check(broken, folder / "right.onnx")
    assert "'inputs' is not the one" in caught.value.why


@pytest.mark.parametrize("model", [5, {"fields": {}}, None])
def test_a_forged_description_is_a_damaged_trace(folder, tmp_path, model):
    forged = tmp_path / "forged"
    shutil.copytree(folder / "right", forged)
    index = json.loads((forged / INDEX).read_text())
    body = {key: value for key, value in index.items() if key not in {"schema", "digest"}}
    body["model"] = model
    text = json.dumps(body, sort_keys=True).encode("ascii")
    digest = hashlib.sha256(text).hexdigest()
    (forged / INDEX).write_text(json.dumps({**index, **body, "digest": digest}))
    with pytest.raises(UnreadableModelError) as caught:
        check(forged, folder / "right.onnx")
    assert caught.value.code == "TRACE_DAMAGED"


def test_the_command_shows_what_was_recorded(folder, tmp_path, capsys):
    words = ["trace", str(folder / "right.onnx"), "-o", str(tmp_path / "new"), "--in-process"]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "recorded 4 tensors" in output
    assert "with its float64 oracle" in output
    assert main(words) == 2, "a folder that is not empty is not written to"
    assert main(["check", str(tmp_path / "new"), str(folder / "right.onnx"), "--in-process"]) == 0
