import pytest

from isomorph.core.errors import UsageError
from isomorph.store.projects import find_project, read_project

PAIR = '[pairs.a]\nreference = "a.pt2"\ncandidate = "b/c.onnx"\n'


def project(tmp_path, text, name="isomorph.toml"):
    path = tmp_path / name
    path.write_text(text)
    return read_project(path)


def test_paths_stand_beside_the_file_and_factories_stay_words(tmp_path):
    text = PAIR + 'inputs = "x.npz"\n[pairs.f]\nreference = "pkg.mod:make"\n'
    plain, factory = project(tmp_path, text).pairs
    assert plain.reference == str(tmp_path / "a.pt2")
    assert plain.candidate == str(tmp_path / "b/c.onnx")
    assert plain.options == {"inputs": str(tmp_path / "x.npz")}
    assert (factory.reference, factory.candidate) == ("pkg.mod:make", None)


def test_a_pair_is_checked_in_each_of_its_environments(tmp_path):
    text = PAIR + 'seed = 3\nenvironments = ["slow", "fast"]\n'
    text += '[environments.slow]\nsettings = { threads = "1" }\n'
    text += '[environments.fast]\nruntime = { candidate = "onnxruntime" }\n'
    slow, fast = project(tmp_path, text).pairs
    assert (slow.name, fast.name) == ("a@slow", "a@fast")
    assert slow.options == {"seed": 3, "settings": {"threads": "1"}}
    assert fast.options == {"seed": 3, "runtime": {"candidate": "onnxruntime"}}


def test_the_nearest_file_above_counts_and_a_pyproject_without_a_table_does_not(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find_project(tmp_path / "deep" / "er") is None
    (tmp_path / "pyproject.toml").write_text(PAIR.replace("pairs", "tool.isomorph.pairs"))
    found = find_project(tmp_path / "deep" / "er")
    assert found.file == str(tmp_path / "pyproject.toml")
    assert [pair.name for pair in found.pairs] == ["a"]


def test_the_baseline_is_beside_the_file(tmp_path):
    assert project(tmp_path, PAIR).baseline == str(tmp_path / "isomorph.baseline.toml")
    other = project(tmp_path, 'baseline = "known.toml"\n' + PAIR)
    assert other.baseline == str(tmp_path / "known.toml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[pair.a]\n", "did you mean 'pairs'"),
        (PAIR + "sed = 1\n", "did you mean 'seed'"),
        (PAIR + 'seed = "1"\n', "expected a whole number"),
        (PAIR + "strict = 1\n", "expected true or false"),
        (PAIR + "dims = { batch = 1.5 }\n", "whole numbers"),
        (PAIR + 'environments = ["slwo"]\n[environments.slow]\n', "did you mean 'slow'"),
        ("[pairs.a]\ncandidate = 'b.onnx'\n", "expected a path"),
        ("pairs = 3\n", "tables [pairs.NAME]"),
        ("[pairs.a\n", "no TOML"),
        ("baseline = 1\n" + PAIR, "expected a path"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(tmp_path, text, expected):
    with pytest.raises(UsageError) as caught:
        project(tmp_path, text)
    error = caught.value
    assert error.code == "CONFIG_INVALID"
    assert expected in f"{error.sentence} {error.why}"


@pytest.mark.parametrize("budget", ["-1", "-1e-9", "nan", "inf", "{ y = -1.0 }", "true"])
def test_a_budget_below_zero_is_refused(tmp_path, budget):
    with pytest.raises(UsageError, match="budget"):
        project(tmp_path, f"{PAIR}budget = {budget}\n")
    assert project(tmp_path, PAIR + "budget = { y = 0.5 }\n").pairs[0].options["budget"] == {
        "y": 0.5
    }
