from isomorph.core.messages.statement import Statement

SEEN = Statement(place="Conv 'stem'", observed="its inputs match; its output differs by 12%")


def test_without_a_cause_the_observation_stands_alone():
    assert SEEN.text == "Conv 'stem': its inputs match; its output differs by 12%"


def test_the_cause_comes_first_and_a_remark_last():
    made = Statement(
        place=SEEN.place, observed=SEEN.observed, cause="pads is 0, not 1", remark="so do others"
    )
    assert made.text == (
        "Conv 'stem': pads is 0, not 1. Its inputs match; its output differs by 12%. So do others"
    )
