"""The search finds the change between two neighbors, whatever lies between the ends."""

from hypothesis import given
from hypothesis import strategies as st

from isomorph.bisecting.search import first_change
from isomorph.core.bisection import SearchOutcome, Trial, TrialStatus
from isomorph.core.bisection_limits import POINTS_AT_AN_END

LETTERS = {"e": "equivalent", "d": "divergent", "u": "unknown"}


def searched(verdicts):
    """A search over points whose verdicts are given by letters; ``-`` does not install."""
    made = []

    def judge(point):
        made.append(point)
        letter = verdicts[int(point)]
        if letter == "-":
            return Trial(point=point, status=TrialStatus.NOT_INSTALLED, reason="no wheel")
        return Trial(point=point, status=TrialStatus.JUDGED, verdict=LETTERS[letter])

    found = first_change([str(place) for place in range(len(verdicts))], judge)
    assert [each.point for each in found.trials] == made
    assert len(set(made)) == len(made)
    return found


def test_the_first_point_with_another_verdict_is_found():
    found = searched("eeeeeeddd")
    assert (found.outcome, found.before, found.after) == (SearchOutcome.FOUND, "5", "6")


def test_few_points_are_tried():
    assert len(searched("e" * 20 + "d" * 12).trials) <= 2 + 5


def test_both_ends_are_judged_first():
    assert [each.point for each in searched("eeeddd").trials][:2] == ["0", "5"]


def test_ends_that_agree_end_the_search():
    found = searched("eedde")
    assert (found.outcome, found.before, found.after) == (SearchOutcome.ENDS_AGREE, "0", "4")
    assert len(found.trials) == 2


def test_one_point_agrees_with_itself():
    assert searched("d").outcome is SearchOutcome.ENDS_AGREE
    assert searched("-").outcome is SearchOutcome.UNDECIDED


def test_a_release_that_does_not_install_is_stepped_over():
    found = searched("-eee--dd-")
    assert (found.before, found.after, found.without_verdict) == ("3", "6", ("4", "5"))


def test_a_release_that_cannot_run_the_model_is_no_answer():
    # The first releases do not know the operator set.
    found = searched("uueeudd")
    assert (found.before, found.after, found.without_verdict) == ("3", "5", ("4",))


def test_a_release_that_begins_to_fail_is_an_answer():
    found = searched("eeeeuuu")
    assert (found.before, found.after) == ("3", "4")


def test_without_two_verdicts_nothing_is_decided():
    assert searched("---e---").outcome is SearchOutcome.UNDECIDED
    assert searched("-" * 40).outcome is SearchOutcome.UNDECIDED
    assert len(searched("-" * 40).trials) == POINTS_AT_AN_END


@given(st.text(alphabet="ed-u", min_size=2, max_size=24))
def test_neighbors_that_are_found_differ_and_nothing_between_them_has_a_verdict(verdicts):
    found = searched(verdicts)
    if found.outcome is not SearchOutcome.FOUND:
        return
    low, high = int(found.before), int(found.after)
    assert low < high
    assert verdicts[low] in "ed"
    assert verdicts[low] != verdicts[high]
    assert found.without_verdict == tuple(str(place) for place in range(low + 1, high))
    assert all(verdicts[place] in "-u" for place in range(low + 1, high))
