from dataclasses import replace

import numpy as np

from chains import Session, graph, node
from isomorph.core.alignment import Confidence, Group
from isomorph.core.trace import Noise
from isomorph.match.alignment import AlignmentInput, align_graphs, untouched_graphs
from isomorph.match.tensor_capture import TensorCapture
from isomorph.match.value_match import ValueMatcher, rearrangements

X = np.random.default_rng(0).normal(size=(4, 6))


def looked(made, stored=None):
    session = Session(made, stored)
    capture = TensorCapture(made, session, {"x": X}, Noise(seed=0, rounding=True))
    capture.compute()
    return capture


def pair_up(left, right):
    return align_graphs(untouched_graphs(ValueMatcher(looked(left), looked(right))))


def partners(alignment):
    return {pair.candidate: pair.reference for pair in alignment.pairs}


def chain(prefix):
    return [
        node("Sin", ["x"], f"{prefix}a"),
        node("Mul", [f"{prefix}a", "x"], f"{prefix}b"),
        node("Add", [f"{prefix}b", f"{prefix}a"], f"{prefix}c"),
    ]


def test_other_names_in_another_order_are_the_same_tensors():
    left = graph([node("Sin", ["x"], "s"), node("Mul", ["x", "x"], "m"),
                  node("Add", ["s", "m"], "out")], outputs=["out"])  # fmt: skip
    right = graph([node("Mul", ["x", "x"], "1"), node("Sin", ["x"], "0"),
                   node("Add", ["0", "1"], "s")], outputs=["s"])  # fmt: skip
    found = pair_up(left, right)
    assert partners(found) == {"x": ("x",), "1": ("m",), "0": ("s",), "s": ("out",)}
    assert {each.confidence for each in found.pairs} == {Confidence.CERTAIN}
    assert found.tensors == (4, 4)
    assert found.summary == "aligned 4 of 4 tensors"
    assert not found.groups


def test_an_equal_name_proves_nothing_against_the_values():
    left = graph([node("Sin", ["x"], "a"), node("Mul", ["x", "x"], "b")], outputs=["a", "b"])
    right = graph([node("Sin", ["x"], "b"), node("Mul", ["x", "x"], "a")], outputs=["b", "a"])
    assert partners(pair_up(left, right)) == {"x": ("x",), "a": ("b",), "b": ("a",)}


def test_the_permutation_from_one_side_to_the_other_is_reported():
    left = graph([node("Sin", ["x"], "a")], outputs=["a"])
    right = graph([node("Sin", ["x"], "b"), node("Transpose", ["b"], "c")], outputs=["c"])
    found = {pair.candidate: pair for pair in pair_up(left, right).pairs}
    assert found["c"].reference == ("a",)
    assert (found["c"].permutation, found["c"].shape) == ((1, 0), (6, 4))
    assert found["c"].transform == "axes permuted by (1, 0)"
    assert (found["b"].permutation, found["b"].transform) == ((), "as it is")


def test_what_is_computed_in_one_step_here_and_in_two_there_is_a_group():
    steps = graph([node("Sin", ["x"], "a"), node("Mul", ["a", "x"], "b"),
                   node("Sin", ["b"], "c")], outputs=["c"])  # fmt: skip

    class Fused(Session):
        def run(self, feeds, fetch, *, noise=None):
            found = Session(steps).run(feeds, [{"y": "c"}.get(name, name) for name in fetch],
                                       noise=noise)  # fmt: skip
            return {name: found[{"y": "c"}.get(name, name)] for name in fetch}

    whole = graph([node("Fused", ["x"], "y")], outputs=["y"])
    right = TensorCapture(whole, Fused(whole), {"x": X}, Noise(seed=0, rounding=True))
    right.compute()
    found = align_graphs(untouched_graphs(ValueMatcher(looked(steps), right)))
    assert found.groups == (Group(reference=("make_a", "make_b", "make_c"), candidate=("make_y",)),)
    assert [each.name for each in found.unaligned_reference] == ["a", "b"]
    assert "a step inside a group" in found.unaligned_reference[0].reason
    assert not found.unaligned_candidate


def test_among_equal_values_the_one_that_is_computed_alike_is_meant():
    """Two branches with the same values, which only their computation distinguishes."""
    left = graph([node("Identity", ["x"], "p"), node("Sin", ["p"], "q"), node("Sin", ["x"], "r"),
                  node("Identity", ["r"], "s")], outputs=["q", "s"])  # fmt: skip
    right = graph([node("Sin", ["x"], "1"), node("Identity", ["1"], "2"),
                   node("Identity", ["x"], "3"), node("Sin", ["3"], "4")],
                  outputs=["2", "4"])  # fmt: skip
    found = {pair.candidate: pair for pair in pair_up(left, right).pairs if pair.kind == "tensor"}
    assert found["2"].reference == ("s",)
    assert "structure" in found["2"].evidence
    assert found["2"].rivals == 2


def test_a_faulty_tensor_is_paired_with_what_was_substituted_for_it():
    left = graph(chain("l"), outputs=["lc"])
    wrong = [replace(each, op="Add") if each.op == "Mul" else each for each in chain("r")]
    matcher = ValueMatcher(looked(left), looked(graph(wrong, outputs=["rc"])))
    right = matcher.reference.values["lb"]
    moved = next(rearrangements(right, right.shape))
    values = matcher.candidate.with_given({"rb": right})
    found = align_graphs(
        AlignmentInput(
            matcher=matcher,
            values=values,
            equal={name: matcher.pair(name, values[name]) for name in values},
            substituted={"rb": ("lb", moved)},
        )
    )
    pairs = {pair.candidate: pair for pair in found.pairs}
    assert (pairs["rb"].evidence, pairs["rb"].transform) == (("substitution",), "other numbers")
    assert pairs["rc"].reference == ("lc",)
    assert "structure" in pairs["rc"].evidence, "it is computed from a corrected tensor"


def test_behind_an_unexplained_difference_structure_is_all_there_is():
    left = graph(chain("l"), outputs=["lc"])
    wrong = [replace(each, inputs=("ra", "ra")) if each.op == "Mul" else each
             for each in chain("r")]  # fmt: skip
    found = pair_up(left, graph(wrong, outputs=["rc"]))
    assert partners(found)["ra"] == ("la",)
    names = [each.name for each in found.unaligned_candidate]
    assert names == ["rb", "rc"]
    assert found.unaligned_candidate[0].reason == "no tensor of the other side holds its values"
    assert found.summary == "aligned 2 of 4 tensors, 2 without a counterpart"


def test_what_is_computed_alike_and_yet_is_not_equal_is_a_possibility():
    left = graph([node("Sin", ["x"], "a"), node("Mul", ["a", "x"], "b")], outputs=["b"])

    class Broken(Session):
        def run(self, feeds, fetch, *, noise=None):
            found = super().run(feeds, fetch, noise=noise)
            return {n: v + 1 if n == "d" and n not in feeds else v for n, v in found.items()}

    other = graph([node("Sin", ["x"], "c"), node("Mul", ["c", "x"], "d")], outputs=["d"])
    right = TensorCapture(other, Broken(other), {"x": X}, Noise(seed=0, rounding=True))
    right.compute()
    found = {
        p.candidate: p
        for p in align_graphs(untouched_graphs(ValueMatcher(looked(left), right))).pairs
    }
    assert found["d"].reference == ("b",)
    assert found["d"].evidence == ("structure",)
    assert (found["d"].confidence, found["d"].inputs) == (Confidence.POSSIBLE, 0)


def test_where_the_noise_is_unknown_nothing_is_equal():
    left, right = (graph(chain(each), outputs=[f"{each}c"]) for each in "lr")
    matcher = ValueMatcher(looked(left), looked(right))
    matcher.candidate.spread["rb"] = float("inf")
    found = {pair.candidate: pair for pair in align_graphs(untouched_graphs(matcher)).pairs}
    assert found["rb"].evidence == ("structure",)
