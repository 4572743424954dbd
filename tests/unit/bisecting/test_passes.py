"""Each further point leaves out one more pass."""

from isomorph.bisecting.optimizers import ALL_ON
from isomorph.bisecting.passes import leaving_out, options_of_point
from isomorph.core.converter_abilities import passes_without

NAMES = ("a", "b", "c")


def test_points_leave_out_more_and_more():
    assert options_of_point(ALL_ON, NAMES) == {}
    assert passes_without(options_of_point("b", NAMES)) == ("a", "b")
    assert passes_without(leaving_out(["c"])) == ("c",)
