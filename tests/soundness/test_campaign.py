"""The campaign counts what is wrong, and keeps it."""

import json

import pytest
from benchmarks.verdicts import campaign, scoring
from benchmarks.verdicts.invariants import joined, with_output
from benchmarks.verdicts.pairs import make_pair

WORDS = ["--pairs", "12", "--seed", "7", "--jobs", "1", "--no-locate", "--invariants", "0"]


class Report:
    """As much of a report as the campaign reads."""

    def __init__(self, word):
        self.verdict, self.reason, self.findings = type("Verdict", (), {"value": word}), word, ()


@pytest.mark.parametrize(("word", "counted"), [
    ("equivalent", "false_equivalent"), ("divergent", "false_divergent"), ("unknown", "unknown"),
    ("crash", "crash"),
])  # fmt: skip
def test_an_answer_that_is_always_the_same_is_counted_as_wrong(
    word, counted, tmp_path, monkeypatch
):
    answered = "crash ValueError" if word == "crash" else word
    report = "a traceback" if word == "crash" else Report(word)
    monkeypatch.setattr(scoring, "answer", lambda *_, **__: (answered, report))
    code = campaign.main([*WORDS, "--out", str(tmp_path)])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary[counted] > 0
    assert code == (0 if word == "unknown" else 1)
    kept = list((tmp_path / "failures").iterdir())
    wrong = [summary[name] for name in ("false_equivalent", "false_divergent", "unknown", "crash")]
    assert len(kept) == sum(wrong) + summary["false_equivalent_unreached"]
    names = {path.name for path in kept[0].iterdir()}
    assert names == {"reference.onnx", "candidate.onnx", "inputs.npz", "row.json"}


def test_the_same_seed_gives_the_same_rows(tmp_path):
    first, second = (
        campaign.examine([70_000_001], str(tmp_path), locate=True, invariants=0) for _ in range(2)
    )
    for row in (*first, *second):
        row["seconds"] = row["judge_seconds"] = 0
    assert first == second


def test_company_stands_beside_the_first_output():
    import onnxruntime

    pair = make_pair(4)
    model = joined(with_output(pair.reference, 1e8))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    plain = onnxruntime.InferenceSession(pair.reference.SerializeToString())
    whole = session.run(None, pair.sample.inputs)[0]
    alone = plain.run(None, pair.sample.inputs)[0].reshape(-1)
    assert (whole[: alone.size] == alone).all()
    first = next(iter(pair.sample.inputs.values()))
    assert whole.size == alone.size + first.size


def test_a_process_that_dies_takes_no_other_rows_with_it(tmp_path, monkeypatch):
    """Run in the pool's place: the first pool breaks, then one chunk breaks again."""
    from concurrent.futures.process import BrokenProcessPool

    asked = []

    def in_pool(left, jobs, out, options):
        asked.append(sorted(left))
        if len(left) > 1 or 1 in left:
            raise BrokenProcessPool
        yield {"seed": left.popitem()[1][0], "outcome": "right"}

    monkeypatch.setattr(campaign, "_in_pool", in_pool)
    monkeypatch.setattr(campaign, "CHUNK", 1)
    rows = list(campaign._rows([5, 6, 7], 2, str(tmp_path)))
    assert asked == [[0, 1, 2], [0], [1], [2]]
    assert [(row["seed"], row["outcome"]) for row in rows] == [
        (5, "right"), (6, "crash"), (7, "right"),
    ]  # fmt: skip
