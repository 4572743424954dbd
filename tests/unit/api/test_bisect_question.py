"""The check of every point, and what becomes of its answer."""

from isomorph.api.bisect_question import Question, judging, new_name, trial_of, unknown
from isomorph.api.options import PairOptions, RuntimeOptions
from isomorph.core.bisection import TrialStatus
from isomorph.core.errors import RuntimeFailedError


def question(**stated):
    given = {
        "sources": ("a.onnx", "b.onnx"), "options": PairOptions(), "inputs": None, "dims": {},
        "seed": 0, "trust": False, "progress": None,
    }  # fmt: skip
    return Question(**{**given, **stated})


def test_one_model_is_the_candidate_of_its_oracle():
    assert question(sources=("a.onnx", None)).roles == {"candidate": "a.onnx"}
    assert list(question().roles) == ["reference", "candidate"]


def test_the_command_repeats_what_was_asked_but_for_one_side():
    runtime = RuntimeOptions(
        name={"reference": "onnxruntime@/env", "candidate": "openvino"},
        settings={"candidate.threads": "2", "optimization": "none"},
    )
    asked = question(options=PairOptions(runtime=runtime), seed=3, dims={"n": 2}, inputs="x.npz")
    assert asked.words(without="candidate") == [
        "--seed=3", "--dim=n=2", "--set=candidate.threads=2", "--set=optimization=none",
        "--inputs=inputs-given.npz", "--runtime=reference=onnxruntime",
    ]  # fmt: skip
    assert asked.settings_of("candidate") == {"threads": "2", "optimization": "none"}
    assert asked.settings_of("reference") == {"optimization": "none"}


def test_an_error_about_the_run_is_unknown():
    def fails():
        raise RuntimeFailedError("RUNTIME_CRASHED", "it crashed", why="by SIGSEGV")

    trial = trial_of(fails)
    assert (trial.status, trial.verdict) == (TrialStatus.JUDGED, "unknown")
    assert trial.reason == "it crashed by SIGSEGV"
    assert unknown("CODE", "it failed", None).headline == "UNKNOWN: CODE"


def test_a_judge_names_the_point_and_passes_the_trial_on():
    seen = []
    trial = judging(seen.append)("1.2", lambda: unknown("CODE", "it failed", None))
    assert seen == [trial]
    assert trial.point == "1.2"


def test_a_new_folder_has_a_name_that_is_free(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert new_name("a-1").name == "a-1"
    (tmp_path / "a-1").mkdir()
    assert new_name("a-1").name == "a-1-2"
