"""Products by an equation, evaluated in real numbers."""

import numpy as np
import pytest

from isomorph.proof.real import evaluated
from isomorph.proof.spelled_einsum import einsum
from isomorph.proof.terms import Terms


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("i,i->", ((5,), (5,))), ("i,j->", ((5,), (4,))), ("i,i->i", ((5,), (5,))),
     ("ij,j->i", ((3, 4), (4,)))],
)  # fmt: skip
def test_letters_that_both_operands_have_are_summed_together(equation, shapes):
    t, random = Terms(), np.random.default_rng(0)
    given = {f"x{n}": random.normal(size=shape) for n, shape in enumerate(shapes)}
    terms = [t.input(name, value.shape, "float32") for name, value in given.items()]
    found = evaluated(einsum(t, equation, terms), given)
    np.testing.assert_allclose(found, np.einsum(equation, *given.values()))
