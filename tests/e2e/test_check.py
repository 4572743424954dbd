"""`isomorph check`, from the command line and from Python, on real conversions."""

import json

import numpy as np
import onnx
import pytest
import torch

import isomorph
from alterations import edited, norm_with_epsilon, rounded_weight, swapped_outputs
from warm_process import isomorph as command


def test_a_faithful_export_is_equivalent_with_a_reason(pair):
    given = ("net.pt2", "net.onnx", "--inputs", "inputs.npz")
    done = command(pair, "check", *given, "--format", "json", "--output", "report.json", fresh=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((pair / "report.json").read_text())
    assert (report["schema"], report["verdict"]) == ("isomorph.report/1", "equivalent")
    for output in report["outputs"]:
        for part in ("translation", "execution_reference", "execution_candidate", "observed"):
            assert output[part]["budget"]["ratio"] <= 1.0, part
        assert output["execution_candidate"]["budget"]["ratio"] > 1e-3, "the budget is too wide"
    assert {"reference run", "candidate oracle"} <= set(report["environments"])


def test_inputs_are_made_up_when_none_are_given(pair):
    report = isomorph.check(pair / "net.pt2", pair / "net.onnx", seed=3)
    assert report.verdict == "equivalent"
    assert {each.origin for each in report.inputs} == {
        "generated: normal, seed 3",
        "generated: uniform, seed 3",
    }


@pytest.mark.parametrize(
    ("name", "edit", "cause"),
    [
        ("epsilon.onnx", norm_with_epsilon(2e-3), "attribute"),
        ("half.onnx", rounded_weight, "weight"),
    ],
)
def test_a_subtle_fault_is_divergent_by_its_translation_alone(pair, name, edit, cause):
    path = edited(pair, name, edit)
    report = isomorph.check(pair / "net.onnx", path, inputs=pair / "inputs.npz")
    assert report.verdict == "divergent"
    assert report.exit_code == 1
    assert (report.findings[0].code, report.findings[0].cause) == ("GUILTY_NODE", cause)
    assert "TRANSLATION" not in {finding.code for finding in report.findings}, "it is explained"
    for output in report.outputs:
        assert output.rounding.budget.ratio > 1.0
        assert output.execution_candidate.budget.ratio < 1.0, "the run itself is fine"


def test_a_fault_below_rounding_is_found_and_fails_only_in_strict_mode(pair):
    path = edited(pair, "tiny.onnx", norm_with_epsilon(1e-5 * (1 + 1e-3)))
    calm = isomorph.check(pair / "net.onnx", path, inputs=pair / "inputs.npz")
    assert (calm.verdict, calm.exit_code) == ("equivalent", 0)
    hidden = [finding for finding in calm.findings if finding.code == "BELOW_ROUNDING"]
    located = [finding for finding in hidden if finding.node is not None]
    assert [finding.cause for finding in located] == ["attribute"]
    (named,) = {tuple(finding.evidence["unlike"]) for finding in hidden if finding.node is None}
    assert named == (located[0].node,), "nothing else was changed"
    strict = isomorph.check(
        pair / "net.onnx",
        path,
        inputs=pair / "inputs.npz",
        options=isomorph.CheckOptions(strict=True),
    )
    assert (strict.verdict, strict.exit_code) == ("equivalent", 1)


def test_outputs_in_another_order_are_noticed(pair):
    path = edited(pair, "swapped.onnx", swapped_outputs)
    for reference in ("net.onnx", "net.pt2"):
        report = isomorph.check(pair / reference, path, inputs=pair / "inputs.npz")
        assert report.verdict == "divergent"
        assert (report.findings[0].code, report.findings[0].cause) == ("OUTPUT_ORDER", "interface")
    accepted = isomorph.check(
        pair / "net.onnx",
        path,
        inputs=pair / "inputs.npz",
        options=isomorph.CheckOptions(bind_outputs={"logits": "logits", "probs": "probs"}),
    )
    assert accepted.verdict == "equivalent"


def test_a_live_module_needs_no_file(pair):
    import torch

    program = torch.export.load(pair / "net.pt2")
    x = torch.from_numpy(np.load(pair / "inputs.npz")["x"])
    report = isomorph.check(program, onnx.load(pair / "net.onnx"), inputs={"x": x})
    assert report.verdict == "equivalent"


def test_recorded_outputs_are_a_reference(pair):
    trace = isomorph.run(pair / "net.onnx", inputs=pair / "inputs.npz")
    np.savez(pair / "expected.npz", **trace.tensors)
    same = command(pair, "check", "expected.npz", "net.onnx", "--inputs", "inputs.npz")
    assert same.returncode == 0, same.stdout + same.stderr
    off = {name: array * 1.001 for name, array in trace.tensors.items()}
    np.savez(pair / "off.npz", **off)
    other = command(pair, "check", "off.npz", "net.onnx", "--inputs", "inputs.npz")
    assert other.returncode == 1


def test_one_model_alone_is_compared_with_its_oracle(pair):
    report = isomorph.check(pair / "net.onnx", inputs=pair / "inputs.npz")
    assert report.verdict == "equivalent"
    assert report.outputs[0].execution_candidate.budget.ratio < 1.0


def test_a_stated_budget_is_obeyed(pair):
    path = edited(pair, "half.onnx", rounded_weight)
    wide = isomorph.check(pair / "net.onnx", path, inputs=pair / "inputs.npz", budget=1.0)
    assert (wide.verdict, wide.exit_code) == ("equivalent", 0)
    narrow = {"logits": 1e-9, "probs": 1.0}
    tight = isomorph.check(pair / "net.onnx", path, inputs=pair / "inputs.npz", budget=narrow)
    assert tight.verdict == "divergent"


def test_equal_seeds_give_equal_reports(pair):
    one, two = (
        isomorph.check(pair / "net.onnx", pair / "net.onnx", seed=5, in_process=True)
        for _ in range(2)
    )
    assert one.outputs == two.outputs
    assert one.inputs == two.inputs


def test_in_process_gives_the_same_numbers(pair):
    words = {"inputs": pair / "inputs.npz"}
    apart = isomorph.check(pair / "net.pt2", pair / "net.onnx", **words)
    here = isomorph.check(pair / "net.pt2", pair / "net.onnx", in_process=True, **words)
    assert here.outputs == apart.outputs
    assert {e.isolation for e in here.environments.values()} == {"none"}
    assert {e.isolation for e in apart.environments.values()} == {"process"}


@pytest.mark.parametrize("by_name", [True, False])
def test_a_live_module_in_this_process_is_followed_with_arrays(tmp_path, by_name):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()
    x = np.ones((2, 4), np.float32)
    program = torch.export.export(module, (torch.from_numpy(x),))
    torch.export.save(program, tmp_path / "live.pt2")
    given = {"input": x} if by_name else (x,)
    report = isomorph.check(module, tmp_path / "live.pt2", inputs=given, in_process=True)
    assert report.verdict == "equivalent"
    assert report.inputs[0].origin == "given"
