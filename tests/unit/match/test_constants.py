import numpy as np
import pytest

from isomorph.core.alignment import Confidence
from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, Quantization
from isomorph.match.concatenated_constants import match_concatenated
from isomorph.match.constants import Constants
from isomorph.match.folded_constants import match_folded

RNG = np.random.default_rng(2)
KERNEL = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
BIAS, SCALE, OFFSET, MEAN = RNG.normal(size=(4, 4)).astype(np.float32)
VARIANCE = RNG.uniform(0.1, 2, size=4).astype(np.float32)


def graph(stored, *, norms=(), quantization=()):
    return Graph(
        name="g", inputs=(), outputs=(), tensors={}, nodes=tuple(norms),
        constants={name: constant_of(name, value) for name, value in stored.items()},
        quantization=quantization,
    )  # fmt: skip


def paired(ref, cand, *, place=lambda _side, _name: "here", left=None, right=None):
    sides = ref, cand
    graphs = graph(ref, **(left or {})), graph(cand, **(right or {}))
    readers = tuple(lambda names, side=side: {n: np.asarray(side[n]) for n in names}
                    for side in sides)  # fmt: skip
    found = Constants(graphs, readers, place)
    found.align()
    match_folded(found)
    match_concatenated(found)
    found.align_by_place()
    return found


def only(found):
    (pair,) = found.pairs
    return pair


def test_the_same_bytes_are_the_same_constant():
    pair = only(paired({"w": KERNEL}, {"v": KERNEL}))
    assert (pair.reference, pair.candidate, pair.transform) == (("w",), "v", "as it is")
    assert pair.confidence is Confidence.CERTAIN


def test_a_transposed_constant_gives_its_permutation():
    pair = only(paired({"w": KERNEL}, {"v": np.ascontiguousarray(KERNEL.transpose(2, 3, 1, 0))}))
    assert pair.permutation == (2, 3, 1, 0)
    assert pair.shape == (3, 3, 3, 4)
    assert pair.transform.startswith("axes permuted by (2, 3, 1, 0)")


def test_a_rounded_constant_is_within_one_rounding():
    pair = only(paired({"w": KERNEL}, {"v": KERNEL.astype(np.float16)}))
    assert (pair.transform, pair.evidence) == ("rounded to float16", ("value",))


def test_a_quantized_constant_is_within_a_step():
    step = float(np.abs(KERNEL).max()) / 127
    integers = np.round(KERNEL / step).astype(np.int8)
    grid = Quantization(tensor="v", dtype="int8", scale=(step,), zero_point=(0,))
    pair = only(paired({"w": KERNEL}, {"v": integers}, right={"quantization": (grid,)}))
    assert pair.transform == "quantized to int8"
    back = Quantization(tensor="w", dtype="int8", scale=(step,), zero_point=(0,))
    pair = only(paired({"w": integers}, {"v": KERNEL}, left={"quantization": (back,)}))
    assert pair.transform == "dequantized"


def test_other_numbers_at_the_same_place_are_only_a_possibility():
    pair = only(paired({"w": KERNEL}, {"v": KERNEL + 1}))
    assert (pair.evidence, pair.confidence) == (("structure",), Confidence.POSSIBLE)
    assert pair.transform == "other numbers"


def test_what_is_read_elsewhere_and_holds_other_numbers_has_no_counterpart():
    found = paired({"w": KERNEL}, {"v": KERNEL + 1}, place=lambda side, _name: side)
    assert not found.pairs
    assert (list(found.unmatched_reference), list(found.unmatched_candidate)) == (["w"], ["v"])


def test_among_equal_constants_the_one_read_at_the_same_place_is_meant():
    zeros = np.zeros(4, np.float32)
    found = paired(
        {"a": zeros, "b": zeros}, {"v": zeros, "u": zeros},
        place=lambda _side, name: name in {"b", "v"},
    )  # fmt: skip
    assert {pair.candidate: pair.reference[0] for pair in found.pairs} == {"v": "b", "u": "a"}
    assert {pair.rivals for pair in found.pairs} == {1}


def norm(side):
    names = [f"{side}.{word}" for word in ("scale", "offset", "mean", "variance")]
    return Node(
        name=f"{side}.norm", op="BatchNormalization", native_op="", inputs=(f"{side}.c", *names),
        outputs=(f"{side}.n",), attributes={"epsilon": 1e-5},
    )  # fmt: skip


def unfolded(side):
    words = {"w": KERNEL, "b": BIAS, "scale": SCALE, "offset": OFFSET, "mean": MEAN,
             "variance": VARIANCE}  # fmt: skip
    return {f"{side}.{word}": value for word, value in words.items()}


def folded():
    factor = SCALE / np.sqrt(VARIANCE + np.float32(1e-5))
    kernel = KERNEL * factor.reshape(4, 1, 1, 1)
    return {"v": kernel.transpose(2, 3, 1, 0), "u": (BIAS - MEAN) * factor + OFFSET}


def test_a_folded_batch_normalization_is_recognized_by_being_computed_again():
    found = paired(unfolded("r"), folded(), left={"norms": [norm("r")]})
    names = {pair.candidate: set(pair.reference) for pair in found.pairs}
    assert names == {
        "v": {"r.w", "r.scale", "r.variance"},
        "u": {"r.b", "r.scale", "r.offset", "r.mean", "r.variance"},
    }
    assert {pair.transform for pair in found.pairs} == {"folded with a batch normalization"}
    assert not found.unmatched_reference


def test_folded_on_the_reference_side_it_is_unfolded():
    found = paired(folded(), unfolded("c"), right={"norms": [norm("c")]})
    names = {pair.candidate: pair.reference for pair in found.pairs}
    assert names["c.w"] == ("v",)
    assert names["c.mean"] == ("u",)
    assert not found.unmatched_candidate


@pytest.mark.parametrize("word", ["v", "u"])
def test_a_fold_that_is_off_by_more_than_its_roundings_is_none(word):
    wrong = folded()
    wrong[word] = wrong[word] * np.float32(1 + 1e-4)
    found = paired(unfolded("r"), wrong, left={"norms": [norm("r")]})
    assert word not in {p.candidate for p in found.pairs if "value" in p.evidence}


def test_joined_constants_are_those_whose_numbers_they_hold():
    parts = {"a": KERNEL, "b": KERNEL[::-1] * 2, "c": BIAS}
    whole = np.stack([KERNEL.reshape(4, 27), 2 * KERNEL.reshape(4, 27)])
    pair = only(paired({k: np.ascontiguousarray(v) for k, v in parts.items()}, {"v": whole}))
    assert (set(pair.reference), pair.transform) == ({"a", "b"}, "joined, in another order")


def test_each_part_of_a_split_constant_is_one():
    found = paired({"w": KERNEL}, {f"v{n}": np.ascontiguousarray(KERNEL[n]) for n in range(4)})
    assert {pair.candidate: pair.reference for pair in found.pairs} == {
        f"v{n}": ("w",) for n in range(4)
    }
    assert {pair.transform for pair in found.pairs} == {"a part of it"}


def test_numbers_that_are_there_but_not_all_are_no_parts():
    found = paired({"a": KERNEL[0], "b": KERNEL[1]}, {"v": KERNEL})
    assert not [pair for pair in found.pairs if "value" in pair.evidence]


def test_the_same_numbers_in_an_order_that_no_axis_explains_are_recognized():
    shuffled = RNG.permutation(KERNEL.ravel()).reshape(KERNEL.shape)
    assert only(paired({"w": KERNEL}, {"v": shuffled})).transform == "in another order"
