import pytest

from isomorph.core.baseline import Accepted
from isomorph.core.errors import UsageError
from isomorph.store.baselines import read_baseline, write_baseline

ENTRY = Accepted(
    pair="a → b",
    output='he said "y"\n\x7f\x1b',
    max_abs=0.25,
    nonfinite=2,
    causes=("attribute", "weight"),
    nodes=("Conv_1",),
    why="known, see the wiki: C:\\notes",
    who="Ada 😀",
    when="2026-11-15",
    until="2027-01-31",
)


def test_what_is_written_is_read_back_whatever_the_names_hold(tmp_path):
    other = Accepted(
        pair="p", output="z", max_abs=None, nonfinite=0, causes=(), nodes=(), why="w", who="x",
        when="2026-11-15",
    )  # fmt: skip
    path = tmp_path / "baseline.toml"
    write_baseline(path, [ENTRY, other])
    assert read_baseline(path) == (ENTRY, other)
    assert path.read_text().startswith("#")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("who", "whom", "did you mean 'who'"),
        ("max_abs = 0.25", 'max_abs = "much"', "expected a number"),
        ("until = 2027-01-31", 'until = "soon"', "a date"),
        ("until = 2027-01-31", "until = 2027", "expected a string"),
        ('causes = ["attribute", "weight"]', "causes = 1", "a list of strings"),
        ("[[accepted]]", "[accepted]", "[[accepted]] tables"),
        ("nonfinite = 2\n", "", "expected a value"),
        ("nonfinite = 2\n", "nonfinite = inf\n", "expected a number"),
        ("nonfinite = 2\n", "nonfinite = nan\n", "expected a number"),
        ("nonfinite = 2\n", "nonfinite = 2.5\n", "expected a number"),
    ],
)
def test_a_spoilt_file_is_an_error_and_never_an_acceptance(tmp_path, before, after, expected):
    path = tmp_path / "baseline.toml"
    write_baseline(path, [ENTRY])
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    assert expected in f"{caught.value.sentence} {caught.value.why}"
