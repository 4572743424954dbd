"""`isomorph fix` from the command line, on a real export."""

import json

import jsonschema
import numpy as np
import onnx
import pytest

from alterations import edited, norm_with_epsilon, rounded_weight, swapped_outputs
from isomorph import api
from isomorph.reporters.json import schema
from warm_process import isomorph


def fix(pair, candidate, output, *more, reference="net.onnx", fresh=False):
    given = ("--inputs", "inputs.npz", "--output", output)
    return isomorph(pair, "fix", reference, candidate, *given, *more, fresh=fresh)


@pytest.mark.parametrize(
    ("reference", "edit", "expected"),
    [
        ("net.pt2", norm_with_epsilon(2e-3), "epsilon from 0.002 to 1e-05"),
        ("net.onnx", rounded_weight, "the values of the reference's"),
        ("net.onnx", swapped_outputs, "outputs in the order logits, probs"),
    ],
    ids=["epsilon", "half", "swapped"],
)
def test_a_broken_export_is_repaired_shown_and_verified(pair, tmp_path, reference, edit, expected):
    candidate = edited(pair, f"fix_{edit.__name__}.onnx", edit)
    before = candidate.read_bytes()
    fixed = tmp_path / "fixed.onnx"
    done = fix(pair, candidate.name, fixed, "--diff", reference=reference)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("REPAIRED  1 patch applied")
    assert expected in " ".join(done.stdout.split()), "wherever its lines are wrapped"
    assert done.stdout.count("after   equivalent") == 3
    assert "edit" in done.stdout
    assert candidate.read_bytes() == before
    report = api.check(pair / "net.onnx", fixed, seed=5, in_process=True)
    assert report.verdict == "equivalent"


def test_a_faithful_export_needs_no_repair(pair, tmp_path):
    fixed = tmp_path / "fixed.onnx"
    done = fix(pair, "net.onnx", fixed, fresh=True)
    assert done.returncode == 0
    assert "nothing to repair" in done.stdout
    assert onnx.load(fixed) == onnx.load(pair / "net.onnx")


def test_what_cannot_be_repaired_exits_1_and_writes_nothing(pair, tmp_path):
    def other_function(model):
        for node in model.graph.node:
            node.op_type = "Sin" if node.op_type == "Relu" else node.op_type
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                array = np.random.default_rng(len(tensor.name)).standard_normal(tuple(tensor.dims))
                drawn = onnx.numpy_helper.from_array(array.astype(np.float32), tensor.name)
                tensor.CopyFrom(drawn)

    candidate = edited(pair, "fix_hopeless.onnx", other_function)
    fixed = tmp_path / "fixed.onnx"
    # Every stored value is another one and the activations are too; a budget that nothing
    # meets stands for whatever else a repair cannot reach.
    done = fix(pair, candidate.name, fixed, "--budget", "1e-30")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "not repaired" in done.stdout
    assert not fixed.exists()


def test_the_candidate_is_never_written_to(pair):
    candidate = edited(pair, "fix_same.onnx", norm_with_epsilon(2e-3))
    before = candidate.read_bytes()
    done = fix(pair, candidate.name, candidate.name)
    assert done.returncode == 4
    assert "OUTPUT_IS_INPUT" in done.stderr
    assert candidate.read_bytes() == before


def test_a_link_is_not_followed(pair, tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("keep me")
    link = tmp_path / "fixed.onnx"
    link.symlink_to(target)
    done = fix(pair, "net.onnx", link)
    assert done.returncode in {2, 4}
    assert target.read_text() == "keep me"


def test_an_exported_program_is_repaired_like_any_other(pair, tmp_path):
    reference = edited(pair, "fix_export.onnx", norm_with_epsilon(2e-3))
    fixed = tmp_path / "fixed.pt2"
    done = fix(pair, "net.pt2", fixed, reference=reference.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "eps from " in done.stdout
    assert fixed.exists()


def test_a_fault_of_the_run_ends_with_the_settings_that_correct_it(pair, tmp_path):
    fixed, large = tmp_path / "fixed.pt2", tmp_path / "large.npz"
    with np.load(pair / "inputs.npz") as given:
        # No type of the run but float16 overflows on them.
        np.savez(large, **{name: np.abs(value) * 5e4 for name, value in given.items()})
    overflowing = ("--set", "candidate.dtype=float16", "--inputs", large)
    done = fix(pair, "net.pt2", fixed, *overflowing)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "REPAIRED  the file is right and its run is not" in done.stdout
    assert "--set 'dtype=as declared'" in done.stdout
    assert done.stdout.count("after   equivalent") == 3
    assert not fixed.exists()


def test_the_repair_as_json_satisfies_its_schema(pair, tmp_path):
    candidate = edited(pair, "fix_json.onnx", norm_with_epsilon(2e-3))
    written = tmp_path / "repair.json"
    done = fix(pair, candidate.name, tmp_path / "f.onnx", "--format", "json", "--report", written)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(written.read_text())
    jsonschema.Draft202012Validator(schema("repair")).validate(found)
    assert found["verified"] is True
    assert found["patches"][0]["edits"][0]["edit"] == "SetAttribute"
    worst = max(each["times_over_budget"] for each in found["after"][0]["outputs"])
    assert worst <= 1 < max(each["times_over_budget"] for each in found["before"][0]["outputs"])


def test_a_repair_has_no_other_format(pair, tmp_path):
    done = fix(pair, "net.onnx", tmp_path / "f.onnx", "--format", "html")
    assert done.returncode == 2
    assert "UNKNOWN_FORMAT" in done.stderr


def test_from_python_the_repair_is_data(pair, tmp_path):
    candidate = edited(pair, "fix_python.onnx", norm_with_epsilon(2e-3))
    repair = api.fix(pair / "net.onnx", candidate, inputs=pair / "inputs.npz", in_process=True)
    assert repair.repaired
    assert repair.output is None
    (applied,) = repair.applied
    assert applied.patch.cost == 1
    assert applied.finding.cause == "attribute"
    assert [str(each.verdict) for each in repair.proof.before] == ["divergent"]
    assert repair.proof.holds
