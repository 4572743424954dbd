"""TFLite weights of few bits by AI Edge Quantizer: clean is degraded, and a fault is named."""

import numpy as np
import pytest

import isomorph
import narrow_tflite as networks
from isomorph.core.divergence import Verdict

RECIPES = {
    "weights": "weight_only_wi4_afp32",
    "channels": "dynamic_wi4_afp32",
    "blocks": "dynamic_wi4b32_afp32",
}
CLEAN = {**RECIPES, "bytes": "dynamic_wi8_afp32"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    source = networks.float_network(folder / "float.tflite")
    made = {
        form: networks.quantized(source, folder / f"{form}.tflite", recipe)
        for form, recipe in CLEAN.items()
    }
    return {"float": source, **made}


@pytest.mark.parametrize("form", CLEAN)
def test_clean_weights_of_few_bits_are_degraded(files, form):
    report = isomorph.check(files["float"], files[form], in_process=True)
    assert report.verdict is Verdict.DEGRADED
    assert not report.findings


@pytest.mark.parametrize("form", CLEAN)
@pytest.mark.parametrize(
    "factors", [np.geomspace(0.3, 3.0, networks.UNITS), np.array([0.125])], ids=["channels", "all"]
)
def test_factors_that_were_worked_into_a_weight_are_no_wrong_scales(files, tmp_path, form, factors):
    apart = networks.float_network(tmp_path / "apart.tflite", factors=factors)
    report = isomorph.check(apart, files[form], in_process=True)
    assert report.verdict is Verdict.DEGRADED
    assert not report.findings


def test_the_same_file_in_blocks_is_equivalent(files):
    report = isomorph.check(files["blocks"], files["blocks"], in_process=True)
    assert report.verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize("form", RECIPES)
@pytest.mark.parametrize("fault", networks.FAULTS)
def test_a_fault_in_packed_weights_is_named(files, tmp_path, form, fault):
    if fault == "shifted_zero_point" and form != "weights":
        pytest.skip("LiteRT has no product of such weights")
    if fault == "other_axis" and form == "channels":
        pytest.skip("LiteRT's product takes the first axis, whatever the file says")
    wrong = networks.planted(files[form], tmp_path / "wrong.tflite", fault)
    report = isomorph.check(files["float"], wrong, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    finding = report.findings[0]
    place = "FULLY_CONNECTED:4" if form == "weights" else "FULLY_CONNECTED:2"
    assert (finding.node, finding.cause) == (place, "quantization")
    assert not [each for each in report.findings if each.node not in (place, None)]
