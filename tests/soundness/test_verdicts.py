"""What isomorph says of random pairs, held against a judge that shares no code with it."""

import pytest
from benchmarks.verdicts.campaign import examine

CHUNK = 25


@pytest.mark.parametrize("first", range(0, 100, CHUNK))
def test_a_faithful_rewrite_is_never_called_divergent(first, tmp_path):
    rows = examine(range(first, first + CHUNK), str(tmp_path), locate=False, share=0.0)
    judged = [row for row in rows if row["outcome"] != "left out"]
    assert len(judged) > CHUNK // 2, "the judge left out most pairs"
    assert not [
        (row["seed"], row["said"], row["reason"]) for row in judged if row["outcome"] != "right"
    ]
