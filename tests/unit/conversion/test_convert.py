"""Hop by hop against the first model: other routes, wrong results found, workarounds applied."""

import json

import pytest

from isomorph import api
from isomorph.conversion.convert import weights_beside
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError

pytestmark = pytest.mark.usefixtures("strange")


def test_the_second_way_wins_where_the_first_fails(dense, tmp_path):
    done = api.convert(dense, tmp_path / "half.onnx", quantize="float16")
    assert done.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
    assert [hop.step.converter for hop in done.chosen] == ["onnx_to_float16"]
    (failed,) = done.tried
    assert failed.step.converter == "pushy_failure"
    assert failed.status == "failed"
    assert (tmp_path / "half.onnx").is_file()
    assert "--via onnx_to_float16" in done.repeat


def test_a_wrong_result_is_found_and_the_next_route_is_tried(dense, tmp_path):
    done = api.convert(dense, tmp_path / "narrow.onnx", quantize="dynamic")
    (wrong,) = done.tried
    assert wrong.step.converter == "pushy_and_wrong"
    assert wrong.status == "divergent"
    assert wrong.report.verdict is Verdict.DIVERGENT
    assert wrong.report.findings[0].node == "product"
    assert done.exit_code == 0


def test_a_wrong_result_without_another_route_writes_only_the_report(dense, tmp_path):
    target = tmp_path / "wrong.onnx"
    done = api.convert(dense, target, via=("wrong",))
    assert done.verdict is Verdict.DIVERGENT
    assert done.exit_code == 1
    assert done.output is None
    assert not target.exists()
    document = json.loads((tmp_path / "wrong.onnx.report.json").read_text())
    assert document["schema"] == "isomorph.conversion/2"
    assert document["chosen"][0]["report"]["findings"][0]["cause"] == "weight"


def test_keep_writes_it_all_the_same(dense, tmp_path):
    done = api.convert(dense, tmp_path / "wrong.onnx", via=("wrong",), keep=True, seed=3)
    assert done.exit_code == 1
    assert (tmp_path / "wrong.onnx").is_file()
    assert done.repeat.endswith(f"{tmp_path / 'wrong.onnx'} --to onnx --via wrong --keep --seed 3")


def test_repair_goes_on_with_a_patched_copy(dense, tmp_path):
    done = api.convert(dense, tmp_path / "mended.onnx", via=("wrong",), repair=True)
    (hop,) = done.chosen
    assert hop.status == "repaired"
    assert hop.patches
    assert done.exit_code == 0
    assert (tmp_path / "mended.onnx").is_file()


def test_an_invalid_file_is_a_failure_of_its_converter(dense, tmp_path):
    done = api.convert(dense, tmp_path / "garbled.onnx", via=("garbles",))
    assert done.verdict is Verdict.UNKNOWN
    assert done.exit_code == 3
    assert "invalid model" in done.chosen[0].trouble.sentence


def test_a_known_workaround_is_applied_and_reported(dense, tmp_path):
    done = api.convert(dense, tmp_path / "made.onnx", via=("needs_workaround",))
    (hop,) = done.chosen
    assert [workaround.name for workaround in hop.workarounds] == ["medicine"]
    assert done.exit_code == 0


def test_a_result_that_no_runtime_takes_is_remedied_too(dense, tmp_path):
    done = api.convert(dense, tmp_path / "made.onnx", via=("unrunnable",))
    (hop,) = done.chosen
    assert (hop.status, [workaround.name for workaround in hop.workarounds]) == (
        "proven",
        ["medicine"],
    )


def test_a_divergent_result_gets_the_workarounds_that_help_against_it(dense, tmp_path):
    done = api.convert(dense, tmp_path / "made.onnx", via=("wrong_without_workaround",))
    (hop,) = done.chosen
    assert (hop.status, [workaround.name for workaround in hop.workarounds]) == (
        "proven",
        ["truth"],
    )
    assert done.exit_code == 0


def test_the_cpus_with_exact_products_are_reported(dense, tmp_path):
    done = api.convert(
        dense, tmp_path / "narrow.onnx", quantize="dynamic", via=("onnx_to_dynamic",)
    )
    assert done.verdict is Verdict.DEGRADED
    assert done.chosen[-1].cpus == "every CPU"
    assert json.loads((tmp_path / "narrow.onnx.report.json").read_text())["chosen"][0]["cpus"]
    float32 = api.convert(dense, tmp_path / "same.onnx", via=("correct",))
    assert float32.chosen[-1].cpus is None


def test_a_result_is_judged_in_the_runtime_that_its_converter_states(dense, tmp_path):
    pytest.importorskip("openvino")
    done = api.convert(dense, tmp_path / "dense.xml")
    assert done.target == "openvino"
    assert done.verdict is Verdict.EQUIVALENT
    environment = done.chosen[-1].report.environments["candidate run"]
    assert environment.runtime == "openvino"
    assert environment.settings["precision"] == "f32"
    assert [each.framework for each in done.chosen[-1].report.models][-1] == "openvino"
    assert (tmp_path / "dense.xml").is_file()
    assert (tmp_path / "dense.bin").is_file()


def test_a_converter_that_is_not_installed_names_the_command(dense, tmp_path):
    with pytest.raises(UsageError) as caught:
        api.convert(dense, tmp_path / "x.onnx", via=("absent",))
    assert caught.value.fix == "pip install nonesuch"


def test_integers_want_samples(dense, tmp_path):
    with pytest.raises(UsageError) as caught:
        api.convert(dense, tmp_path / "x.onnx", quantize="int8")
    assert caught.value.code == "SAMPLES_NEEDED"


def test_the_source_is_never_written_to(dense):
    with pytest.raises(Exception, match="overwrite"):
        api.convert(dense, dense, via=("correct",))


def test_weights_beside_a_model_carry_its_name(tmp_path):
    for name in ("m.onnx", "m.onnx.data", "m.bin", "prepared.onnx", "other.bin"):
        (tmp_path / name).touch()
    (tmp_path / "m.onnx.folder").mkdir()
    found = {each.name for each in weights_beside(tmp_path / "m.onnx")}
    assert found == {"m.onnx.data", "m.bin"}
