"""The share of tensors and constants of the candidate that have a counterpart."""

from isomorph.core.alignment import Alignment, Group, Pair, Unaligned


def pair(kind, candidate):
    return Pair(kind=kind, reference=("r",), candidate=candidate)


def missing(kind, name="n"):
    return Unaligned(name=name, kind=kind, reason="")


MADE = Alignment(
    inputs=1,
    pairs=(pair("input", "x"), pair("tensor", "t"), pair("tensor", "t"), pair("constant", "w")),
    unaligned_candidate=(missing("tensor"), missing("constant"), missing("constant")),
    unaligned_reference=(missing("tensor"),),
)


def test_a_tensor_with_two_counterparts_counts_once_and_the_references_do_not():
    assert MADE.tensors == (2, 3)
    assert MADE.constants == (1, 3)


def test_the_summary_counts_what_lacks_a_counterpart_and_what_was_fused():
    assert MADE.summary == ("aligned 2 of 3 tensors and 1 of 3 constants, 3 without a counterpart")
    groups = (
        Group(reference=("a", "b"), candidate=("c",)),
        Group(reference=("a",), candidate=()),
    )
    fused = Alignment(inputs=1, pairs=(pair("tensor", "t"),), groups=groups)
    assert fused.summary == "aligned 1 of 1 tensors; 1 group of fused or split nodes"
