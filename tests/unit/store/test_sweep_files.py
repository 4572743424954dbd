"""A sweep file is read into cells, and every mistake is located."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.store.sweep_files import read_sweep

PAIR = """
[models.net]
reference = "a.onnx"
candidate = "b.onnx"
"""


@pytest.fixture
def plan(tmp_path):
    def read(text):
        path = tmp_path / "sweep.toml"
        path.write_text(text, encoding="utf-8")
        return read_sweep(path)

    return read


def names(plan):
    return [cell.name for cell in plan.cells]


def test_every_combination_is_a_cell(plan, tmp_path):
    found = plan(
        "seeds = [0, 7]\n" + PAIR + '[environments.cpu]\n[environments.plain]\n'
        'settings = { optimization = "none" }\n[shards.one]\ndata = "day1"\n[shards.two]\n'
        'data = "day2"\n'
    )  # fmt: skip
    assert len(found.cells) == 8
    assert names(found)[:3] == ["net@cpu one", "net@cpu one seed 7", "net@cpu two"]
    last = found.cells[-1]
    assert last.options == {
        "settings": {"optimization": "none"}, "data": str(tmp_path / "day2")
    }  # fmt: skip
    assert last.reference == str(tmp_path / "a.onnx")
    assert found.store == str(tmp_path / "sweep-results")


def test_a_pattern_is_one_model_for_each_file(plan, tmp_path):
    for name in ("x", "y"):
        (tmp_path / f"{name}.onnx").touch()
    found = plan('[models.all]\ncandidate = "*.onnx"\nreference = "old/{stem}.pt2"\n')
    assert names(found) == ["all/x@usual", "all/y@usual"]
    assert found.cells[1].reference == str(tmp_path / "old" / "y.pt2")


def test_exclude_and_include_choose(plan):
    two = PAIR + '[models.other]\nreference = "c"\ncandidate = "d"\n'
    two += "[environments.cpu]\n[environments.gpu]\n"
    kept = names(plan('exclude = [{ model = "o*", environment = "gpu" }]\n' + two))
    assert kept == ["net@cpu", "net@gpu", "other@cpu"]
    assert names(plan('include = [{ environment = "gpu" }]\n' + two)) == ["net@gpu", "other@gpu"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no cell is left"),
        ("modles = 1\n" + PAIR, "unknown key 'modles'"),
        ("seeds = []\n" + PAIR, "seeds is"),
        ("seeds = [1, 1]\n" + PAIR, "seeds is"),
        ("seeds = [true]\n" + PAIR, "seeds is"),
        ('verb = "train"\n' + PAIR, "verb is 'train'"),
        ("store = 3\n" + PAIR, "store is 3"),
        ('[models.net]\nreference = "a"\n', "reference or candidate"),
        ('[models.net]\nreference = "pkg:make"\ncandidate = "b"\n', "is a factory"),
        ('[models.net]\nreference = "a"\ncandidate = "*.none"\n', "does not follow"),
        ('[models.net]\nreference = "{stem}.pt2"\ncandidate = "*.none"\n', "no file fits"),
        ('exclude = [{ modell = "a" }]\n' + PAIR, "unknown key 'modell'"),
        (PAIR + '[environments.cpu]\ninputs = "x.npz"\n', "unknown key 'inputs'"),
        (PAIR + "[environments.cpu]\ndims = 3\n", "dims is 3"),
        (PAIR + "[shards]\none = 1\n", "shards.one is 1"),
        ('store = "a\\u0000b"\n' + PAIR, "store is"),
        ('[models.net]\nreference = "a\\u0000"\ncandidate = "b"\n', "reference is"),
        ('[models.net]\nreference = "' + "a:" * 3000 + '"\ncandidate = "b"\n', "characters"),
        ("seeds = [0x" + "f" * 5000 + "]\n" + PAIR, "no TOML"),
    ],
)
def test_a_mistake_is_located(plan, text, message):
    with pytest.raises(UsageError, match=message) as raised:
        plan(text)
    assert raised.value.exit_code == 2


def test_two_cells_of_one_name_are_refused(plan, tmp_path):
    (tmp_path / "p").mkdir()
    for folder in (tmp_path, tmp_path / "p"):
        (folder / "x.onnx").touch()
    with pytest.raises(UsageError, match="two cells have the name"):
        plan('[models.all]\ncandidate = "**/*.onnx"\nreference = "old/{stem}.pt2"\n')
