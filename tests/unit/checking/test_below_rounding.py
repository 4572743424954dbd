"""Where nodes are searched for that differ by less than rounding shows."""

from types import SimpleNamespace

import pytest

from isomorph.checking.below_rounding import differs_below_rounding
from isomorph.core.divergence import Verdict


def output(verdict=Verdict.EQUIVALENT, *, beyond=None):
    translation = None if beyond is None else SimpleNamespace(beyond=beyond)
    return SimpleNamespace(verdict=verdict, translation=translation)


@pytest.mark.parametrize(
    ("outputs", "order", "searched"),
    [
        ([output(beyond=True)], None, True),
        ([output(beyond=False), output(beyond=True)], None, True),
        ([output(beyond=False)], None, False),
        ([output()], None, False),
        ([output(Verdict.DIVERGENT, beyond=True)], None, False),
        ([output(Verdict.DEGRADED, beyond=True)], None, False),
        ([output(beyond=True), output(Verdict.DIVERGENT)], None, False),
        ([output(beyond=True)], object(), False),
    ],
)
def test_only_equivalent_outputs_that_differ_are_searched(outputs, order, searched):
    comparison = SimpleNamespace(divergences=outputs, order=order)
    assert differs_below_rounding(comparison) is searched
