"""Which constants a conversion may have rounded again: those that the other side does not have."""

from isomorph.core.model import Constant, Graph
from isomorph.measure.comparand import unmatched_constants


def graph(**digests):
    constants = {
        name: Constant(name=name, dtype=dtype, shape=(2,), digest=name, value_digest=digest)
        for name, (dtype, digest) in digests.items()
    }
    return Graph(name="g", inputs=(), outputs=(), nodes=(), tensors={}, constants=constants)


def test_a_constant_whose_values_the_other_graph_has_under_any_name_is_matched():
    ref = graph(w=("float32", "one"), b=("float16", "two"))
    cand = graph(renamed=("float32", "one"))
    assert unmatched_constants(ref, cand) == ("b",)
    assert unmatched_constants(cand, ref) == ()


def test_integers_are_not_rounded_again():
    assert unmatched_constants(graph(axes=("int64", "x"), q=("int8", "y")), graph()) == ()
