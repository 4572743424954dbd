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


CONVERT = 'verb = "convert"\n[environments.half]\nto = "onnx"\nquantize = "float16"\n'


def test_a_conversion_takes_one_model(plan, tmp_path):
    (tmp_path / "x.onnx").touch()
    models = '[models.one]\nreference = "a.onnx"\n[models.all]\nreference = "*.onnx"\n'
    found = plan(CONVERT + models)
    assert names(found) == ["one@half", "all/x@half"]
    assert {each.candidate for each in found.cells} == {""}
    assert found.cells[0].options == {"to": "onnx", "quantize": "float16"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONVERT + PAIR, "reference or candidate is"),
        ('verb = "convert"\n[models.one]\nreference = "a.onnx"\n', "has no target"),
        (CONVERT + '[models.one]\nreference = "a"\nruntime = "openvino"\n', "takes no option"),
        ('verb = "fix"\nto = "onnx"\n' + PAIR, "to"),
        ('verb = "fix"\n' + PAIR + "quick = true\n", "fix takes no option 'quick'"),
        (PAIR + 'to = "onnx"\n', "check takes no option 'to'"),
        ("pairs = 3\n", "pairs is 3"),
        (CONVERT + '[models.none]\nreference = "*.nothing"\n', "no file fits"),
    ],
)
def test_what_a_command_does_not_take_is_refused(plan, text, message):
    with pytest.raises(UsageError) as caught:
        plan(text)
    assert message in str(caught.value)


def test_the_pairs_of_a_project_are_models(plan, tmp_path):
    (tmp_path / "isomorph.toml").write_text(
        '[environments.v]\nruntime = "openvino"\n[pairs.alone]\nreference = "a.onnx"\n'
        '[pairs.both]\nreference = "a.onnx"\ncandidate = "b.onnx"\nseed = 5\n'
        'environments = ["v"]\n',
        encoding="utf-8",
    )
    found = plan('pairs = "isomorph.toml"\n' + PAIR)
    assert names(found) == ["net@usual", "alone@usual", "both@v@usual"]
    alone, both = found.cells[1:]
    assert (alone.reference, alone.candidate) == (str(tmp_path / "a.onnx"), "")
    assert both.candidate == str(tmp_path / "b.onnx")
    assert (both.seed, both.options) == (0, {"runtime": "openvino"})


def test_a_factory_of_a_project_is_refused(plan, tmp_path):
    (tmp_path / "isomorph.toml").write_text('[pairs.a]\nreference = "m:f"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="is a factory"):
        plan('pairs = "isomorph.toml"\n')
