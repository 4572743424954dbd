"""The points of a search over optimizers are settings that add up."""

from isomorph.bisecting.optimizers import ALL_ON, settings_of_point, switched_off
from isomorph.core.execution import Switch

SWITCHES = {name: Switch(name=name, settings={"off": name}) for name in ("first", "second")}


def test_no_optimizer_is_off_at_the_first_point():
    assert settings_of_point("candidate", ALL_ON, SWITCHES) == {}


def test_all_up_to_a_point_are_off():
    assert settings_of_point("candidate", "first", SWITCHES) == {"candidate.off": "first"}
    assert settings_of_point("candidate", "second", SWITCHES) == {"candidate.off": "first,second"}


def test_one_can_be_off_alone():
    assert switched_off("reference", ["second"], SWITCHES) == {"reference.off": "second"}
