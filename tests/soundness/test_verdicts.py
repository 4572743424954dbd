"""What isomorph says of random pairs, held against a judge that shares no code with it."""

import pytest
from benchmarks.verdicts.campaign import broken, examine

CHUNK = 25


def judged(first, folder, **options):
    """The rows of the pairs that the judge can tell; most have to be."""
    rows = examine(range(first, first + CHUNK), str(folder), **options)
    rows = [row for row in rows if row["outcome"] != "left out"]
    assert len(rows) > CHUNK // 3, "the judge left out most pairs"
    return rows


def wrong(rows):
    return [
        (row["seed"], row["group"], row["mutation"], row["answered"], row["reason"])
        for row in rows
        if row["outcome"] != "right"
    ]


@pytest.mark.parametrize("first", range(0, 100, CHUNK))
def test_a_faithful_rewrite_is_never_called_divergent(first, tmp_path):
    assert not wrong(judged(first, tmp_path, locate=False, share=0.0))


@pytest.mark.parametrize("first", range(1000, 1200, CHUNK))
def test_a_mutation_is_never_called_equivalent(first, tmp_path):
    assert not wrong(judged(first, tmp_path, locate=False, share=1.0))


@pytest.mark.parametrize("first", [2000, 2000 + CHUNK])
def test_seed_names_company_and_order_change_no_verdict(first, tmp_path):
    rows = judged(first, tmp_path, locate=False, invariants=5)
    assert any(row["invariants"] for row in rows)
    assert not [(row["seed"], row["invariants"]) for row in rows if broken(row)]
