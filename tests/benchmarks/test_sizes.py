"""Claims for every size are compared with evaluations at other sizes."""

import pytest
from benchmarks import sizes

import isomorph


def test_no_claim_is_wrong(capsys):
    assert sizes.main(["--pairs", "40", "--seed", "5"]) == 0
    words = capsys.readouterr().out
    assert "40 pairs" in words
    assert int(words.split(" true")[0].split()[-1]) > 10


def test_a_wrong_claim_is_found(monkeypatch, capsys):
    class Axis:
        every_size, least = True, 1

    class Claims:
        axes, whole = (Axis(),), True

    monkeypatch.setattr(isomorph, "prove", lambda *_, **__: Claims())
    assert sizes.main(["--pairs", "40", "--seed", "5"]) == 1
    assert "wrong: pair 50000" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_equal_at_the_size_tried_or_mutated(seed):
    pair = sizes.make_pair(seed)
    assert sizes.outcome(pair.reference, pair.tried) is not None
    assert sizes.equal_at(sizes.Made(reference=pair.reference, candidate=pair.reference,
                                     tried=pair.tried), 3)  # fmt: skip
