"""The constants of the reference's node that may stand for one of the candidate's."""

from types import SimpleNamespace

import numpy as np

from isomorph.core.model import Constant
from isomorph.diagnose.node_constants import constants_of_equal_size
from one_node_graphs import made


def test_who_divides_there_multiplies_here_by_the_inverse():
    def number(name):
        return Constant(name=name, dtype="float32", shape=(1,), digest=name, value_digest=name)

    candidate, cand = made("Mul", "MUL", number("m"))
    reference, ref = made("Div", "RealDiv", number("d"))
    context = SimpleNamespace(
        candidate=candidate,
        reference=reference,
        nodes=(cand,),
        counterparts=(ref,),
        constant=lambda *_: np.array([4.0]),
    )
    assert [float(value[0]) for _, value in constants_of_equal_size(context, "m")] == [4.0, 0.25]
