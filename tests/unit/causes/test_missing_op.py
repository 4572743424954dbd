"""A node that changes what the reference uses as it is."""

from cause_examples import drawn, network, place
from isomorph.causes.missing_op import MissingOp
from isomorph.core.fault_context import Certainty

TEXT = "g (float[3,6] x) => (float[3,6] y) {{ {a} y = Tanh ({h}) }}"


def test_a_node_that_the_reference_does_not_have_is_named():
    context = place(
        network(TEXT.format(a="", h="x")),
        network(TEXT.format(a="h = Exp (x)", h="h")),
        x=drawn(3, 6),
    )
    (found,) = MissingOp().examine(context)
    assert found.certainty is Certainty.CONFIRMED
    assert found.summary == "Exp changes 'x', which the reference uses unchanged"
