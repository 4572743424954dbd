"""A sweep as text: the matrix, and what is not fine."""

import csv
import io

from isomorph.core.sweep import CellResult, CellStatus, Sweep
from isomorph.reporters.sweep_text import as_csv, as_markdown, as_text


def cell(model, environment, **words):
    words = {"status": CellStatus.DONE, "exit_code": 0, **words}
    return CellResult(name=f"{model}@{environment}", model=model, environment=environment,
                      shard="", seed=0, key="k", **words)  # fmt: skip


FOUND = Sweep(
    file="sweep.toml", store="s", seconds=3.0,
    cells=(
        cell("net", "cpu", verdict="equivalent", ratio=0.25, fresh=True),
        cell("net", "gpu", verdict="divergent", ratio=31.0, node="conv", cause="weight",
             reason="the two graphs differ", exit_code=1),
        cell("odd|name", "cpu", exit_code=2, reason="error[X] no such file"),
    ),
)  # fmt: skip


def test_the_matrix_has_a_place_for_every_cell():
    text = as_text(FOUND)
    assert text.startswith("3 cells: 1 equivalent, 1 divergent, 1 error")
    assert "net       = 0.25×  ≠ 31×" in text
    assert "= equivalent, ≠ divergent, ! error" in text


def test_what_is_not_fine_is_named_with_its_reason():
    text = as_text(FOUND)
    assert "net@gpu: DIVERGENT\n  the two graphs differ\n  node conv, cause weight" in text
    assert "error[X] no such file" in text
    assert "net@cpu:" not in text


def test_an_interrupted_sweep_says_how_to_go_on():
    assert "the same command does the rest" in as_text(Sweep(
        file="", store="", cells=FOUND.cells, interrupted=True
    ))  # fmt: skip


def test_markdown_escapes_names():
    assert "| odd\\|name | ! error |" in as_markdown(FOUND)


def test_rows_have_every_field():
    read = list(csv.DictReader(io.StringIO(as_csv(FOUND))))
    assert [each["verdict"] for each in read] == ["equivalent", "divergent", ""]
    assert read[1]["cause"] == "weight"
