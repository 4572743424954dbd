"""Bisections over a conversion: releases of its package, operator sets, and passes."""

import sys

import numpy as np
import onnx
import pytest
from onnx import parser

import isomorph
from isomorph.bisecting import environments
from isomorph.core.errors import UsageError
from other_environments import made_environment

HARDMAX = (
    '<ir_version: 5, opset_import: ["": 11]> net (float[2,3,4] x) => (float[2,3,4] y) '
    "{ y = Hardmax <axis = 1> (x) }"
)
DAMAGED_RELEASE = """
import sys
if not any("start_elsewhere" in each for each in sys.argv + sys.orig_argv):
    import importlib.metadata as metadata
    _version = metadata.version
    metadata.version = lambda name: "2.0" if name == "onnxslim" else _version(name)
import onnxslim
from onnx import numpy_helper
_slim = onnxslim.slim
def slim(*words, **named):
    model = _slim(*words, **named)
    for each in model.graph.initializer:
        array = numpy_helper.to_array(each) * 1.5
        each.CopyFrom(numpy_helper.from_array(array.astype("float32"), each.name))
    return model
onnxslim.slim = slim
"""
"""A release of onnxslim that multiplies every weight."""
SOUND_RELEASE = """
import importlib.metadata as metadata
_version = metadata.version
metadata.version = lambda name: "1.0" if name == "onnxslim" else _version(name)
"""


@pytest.fixture
def hardmax(tmp_path):
    path = tmp_path / "hardmax.onnx"
    onnx.save(parser.parse_model(HARDMAX), path)
    return path


@pytest.fixture
def releases(tmp_path, monkeypatch):
    """Four releases of onnxslim, of which the last but one damages weights, and one is missing."""
    sound = made_environment(tmp_path / "sound", start=SOUND_RELEASE)
    damaged = made_environment(tmp_path / "damaged", start=DAMAGED_RELEASE)
    made = {"1.0": sound, "1.1": None, "2.0": damaged, "2.1": damaged}

    class Releases(environments.ReleaseEnvironments):
        def releases(self):
            return tuple(made)

        def make(self, version):
            if made[version] is None:
                raise environments.ReleaseUnusableError("no wheel for this Python")
            packages = {"numpy": np.__version__, "onnxslim": version, "onnx": f"0.{version}"}
            return environments.MadeEnvironment(interpreter=str(made[version]), packages=packages)

    monkeypatch.setattr(environments, "ReleaseEnvironments", Releases)
    return made


def test_the_release_whose_conversion_is_another_function_is_found(dense, tmp_path, releases):
    shown = tmp_path / "shown"
    found = isomorph.bisect(
        dense, convert="onnx", package="onnxslim", versions="1.0..2.1", reproducer=shown
    )
    assert (found.outcome, found.before, found.after) == ("found", "1.0", "2.0")
    assert (found.converter, found.without_verdict) == ("onnx_slim", ("1.1",))
    assert [each.verdict for each in found.ends] == ["equivalent", "divergent"]
    readme = (shown / "README.md").read_text(encoding="utf-8")
    # The plain program was run in both, and it wrote the files that were checked.
    assert "onnxslim 1.0 wrote by-onnxslim-1.0.onnx" in readme
    assert "onnxslim 2.0 wrote by-onnxslim-2.0.onnx" in readme
    assert "isomorph check dense.onnx by-onnxslim-2.0.onnx" in readme
    assert (shown / "requirements-after.txt").read_text("utf-8").splitlines() == [
        f"numpy=={np.__version__}", "onnx==0.2.0", "onnxslim==2.0",
    ]  # fmt: skip
    before, after = (shown / f"by-onnxslim-{each}.onnx" for each in ("1.0", "2.0"))
    assert isomorph.check(dense, before, quick=True).verdict == "equivalent"
    assert isomorph.check(dense, after, quick=True).verdict == "divergent"
    compile((shown / "convert.py").read_text(encoding="utf-8"), "convert.py", "exec")


def test_a_conversion_that_fails_has_no_verdict_but_at_the_end(
    dense, tmp_path, releases, monkeypatch
):
    broken = made_environment(tmp_path / "broken", start="import onnxslim\nonnxslim.slim = None\n")
    releases["2.0"] = releases["2.1"] = broken
    found = isomorph.bisect(
        dense, convert="model.onnx", package="onnxslim", versions="1.0..2.1",
        reproducer=tmp_path / "shown",
    )  # fmt: skip
    assert (found.before, found.after) == ("1.0", "2.0")
    trial = found.trial("2.0")
    assert trial.verdict == "unknown"
    assert "converter 'onnx_slim' failed" in trial.reason
    # A program that only works in one of the two is no program that shows both results.
    names = {each.name for each in (tmp_path / "shown").iterdir()}
    assert "by-onnxslim-1.0.onnx" in names
    assert "by-onnxslim-2.0.onnx" not in names
    releases["2.1"] = releases["1.0"]
    found = isomorph.bisect(dense, convert="onnx", package="onnxslim", versions="1.0..2.1")
    assert found.outcome == "ends-agree"


def test_the_operator_set_to_which_a_conversion_is_wrong_is_found(hardmax):
    # ONNX's own converter keeps the axis of Hardmax and drops its meaning at 13.
    found = isomorph.bisect(hardmax, convert="onnx", over="opsets", versions="11..14")
    assert (found.before, found.after) == ("12", "13")
    assert found.points == ("11", "12", "13", "14")
    assert found.converter == "onnx_opset"


def test_the_pass_that_makes_a_conversion_wrong_is_found(dense, strange):
    found = isomorph.bisect(dense, convert="onnx", over="passes", via=("wrong_pass",))
    assert (found.before, found.after) == ("cleaning", "scaling")
    assert found.trial("scaling alone").verdict == "equivalent"
    assert found.points == ("all on", "cleaning", "scaling", "renaming")


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ({"over": "opsets", "versions": "9..12"}, "needs a conversion"),
        ({"via": ("onnx_slim",)}, "--via needs a conversion"),
        ({"convert": "onnx", "over": "optimizers"}, "--over optimizers searches"),
        ({"convert": "onnx", "side": "candidate"}, "--side and --convert"),
        ({"convert": "onnx"}, "the name of a package"),
        ({"convert": "onnx", "package": "nonesuch"}, "'nonesuch'"),
        ({"convert": "onyx", "over": "opsets", "versions": "9..12"}, "no format 'onyx'"),
        ({"convert": "onnx", "quantize": "int8", "over": "passes"}, "needs samples"),
        ({"convert": "pytorch", "over": "passes"}, "passes that can be left out"),
        (
            {"convert": "onnx", "over": "passes", "package": "onnxslim", "versions": "1..2"},
            "no single release",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(dense, stated, text):
    with pytest.raises(UsageError) as caught:
        isomorph.bisect(dense, **stated)
    assert text in str(caught.value)


def test_a_candidate_is_what_the_conversion_makes(dense):
    with pytest.raises(UsageError, match="a candidate and --convert"):
        isomorph.bisect(dense, dense, convert="onnx")


def test_passes_of_a_release_are_asked_in_its_environment(dense, tmp_path, monkeypatch):
    start = "import onnxslim.core.pattern.registry as known\nknown.DEFAULT_FUSION_PATTERNS = {}\n"
    place = made_environment(tmp_path / "env", start=start)

    class Releases(environments.ReleaseEnvironments):
        def make(self, version):
            return environments.MadeEnvironment(interpreter=str(place), packages={})

    monkeypatch.setattr(environments, "ReleaseEnvironments", Releases)
    found = isomorph.bisect(
        dense, convert="onnx", over="passes", package="onnxslim", versions="1.0"
    )
    assert found.points == ("all on",)
    assert found.outcome == "ends-agree"
    assert sys.executable != str(place)
