"""The guide names fields and exit codes that exist; its commands are run with those of docs."""

import re

from isomorph.core.divergence import Verdict
from isomorph.core.report import FindingEffect, FindingStatus
from isomorph.reporters.agents_guide import agents_guide
from isomorph.reporters.json import schema


def test_every_field_that_it_names_is_in_the_schema():
    report, finding = schema()["properties"], schema()["$defs"]["Finding"]["properties"]
    rows = [line for line in agents_guide().splitlines() if line.startswith("| `")]
    named = [re.findall(r"`([\w.\[\]]+)`", row.split("|")[1]) for row in rows]
    assert len(named) > 8
    for first, *others in named:
        if first.startswith("findings[0]."):
            fields = [first.removeprefix("findings[0]."), *(each.lstrip(".") for each in others)]
            assert set(fields) <= set(finding)
        else:
            assert first in report


def test_its_words_for_verdicts_and_effects_are_those_of_a_report():
    text = agents_guide()
    assert all(f"`{verdict}`" in text for verdict in Verdict)
    assert FindingStatus.CONFIRMED in text
    named = (FindingEffect.REACHES_OUTPUT, FindingEffect.LATENT, FindingEffect.BELOW_ROUNDING)
    assert all(f"`{effect}`" in text for effect in named)


def test_every_exit_code_has_an_answer():
    codes = set(re.findall(r"^\| (\d+) \|", agents_guide(), re.M))
    assert codes == {"0", "1", "2", "3", "4", "70"}
