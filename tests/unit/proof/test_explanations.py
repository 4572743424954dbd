"""Constants that a conversion computed, and those that it did not."""

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.proof import explanations
from isomorph.proof.explanations import explain, structure
from isomorph.proof.own_numbers import OwnNumbers
from isomorph.proof.spelling import sqrt
from isomorph.proof.terms import Terms

RANDOM = np.random.default_rng(0)
W = RANDOM.normal(size=(6, 3)).astype(np.float32)
VARIANCE = (RANDOM.random(6) + 0.5).astype(np.float32)
FOLDED = (W / np.sqrt(VARIANCE + np.float32(1e-5))[:, None]).astype(np.float32)


@pytest.fixture
def terms():
    made = Terms()
    spread = sqrt(made, made.add(made.constant(VARIANCE, "float32"), made.number(1e-5, "float32")))
    factor = made.reshape(made.inverse(spread), (6, 1))
    made.mul(made.constant(W, "float32"), factor)
    return made


def explained(terms, **arrays):
    constants = {name: constant_of(name, array) for name, array in arrays.items()}
    return explain(terms, OwnNumbers(constants, arrays.__getitem__), frozenset())


def test_a_folded_weight_stands_for_its_expression(terms):
    found, listed = explained(terms, w=FOLDED)
    assert found["w"].static
    assert found["w"].op == "mul"
    assert 0 < listed[0].relative < 4e-7


@pytest.mark.parametrize("factor", [1.0001, 1.000005, 0.0, -1.0])
def test_another_element_has_no_explanation(terms, factor):
    changed = FOLDED.copy()
    changed[3, 1] *= np.float32(factor)
    assert explained(terms, w=changed)[0] == {}


def test_two_constants_do_not_stand_for_one_expression(terms):
    neighbor = np.nextafter(FOLDED, np.float32(np.inf))
    assert explained(terms, w=FOLDED, v=neighbor)[0] == {}


def test_a_sum_of_which_no_digit_is_left_explains_nothing():
    terms = Terms()
    big = np.full(3, 1e8, np.float32)
    terms.add(
        terms.mul(terms.constant(big, "float32"), terms.number(-1.0, "float32")),
        terms.constant(big + np.float32(8), "float32"),
    )
    assert explained(terms, b=np.array([9, 9, 9], np.float32))[0] == {}


def test_a_stored_constant_explains_no_other_number():
    terms = Terms()
    terms.constant(W, "float32")
    assert explained(terms, w=np.nextafter(W, np.float32(9)))[0] == {}


def test_a_folded_weight_that_is_stored_in_another_order_stands_for_its_expression(terms):
    found, _ = explained(terms, w=FOLDED.T.copy())
    assert found["w"].shape == (3, 6)
    turned = terms.transpose(found["w"], (1, 0))
    assert turned.op == "mul"


def test_two_orders_of_different_numbers_stand_for_nothing(terms):
    nearby = np.nextafter(FOLDED, np.float32(9)).T.copy()
    assert explained(terms, w=FOLDED, v=nearby) == ({}, [])


@pytest.mark.parametrize("large", [0, 1 << 16])
def test_what_is_large_is_computed_again_where_it_is_needed(terms, monkeypatch, large):
    monkeypatch.setattr(explanations, "_LARGE", large)
    halved = terms.mul(terms.constant(W, "float32"), terms.constant(VARIANCE[:3], "float32"))
    found, _ = explained(terms, w=FOLDED, turned=(W * VARIANCE[:3]).T.copy(), other=W * 3)
    assert found["w"].op == "mul"
    assert found["turned"] is terms.transpose(halved, (1, 0))
    assert "other" not in found


def test_a_further_proof_takes_what_an_earlier_one_found():
    def of_new_terms(earlier, **arrays):
        terms = Terms()
        root = sqrt(terms, terms.constant(VARIANCE, "float32"))
        terms.mul(terms.constant(W, "float32"), terms.reshape(terms.inverse(root), (6, 1)))
        constants = {name: constant_of(name, array) for name, array in arrays.items()}
        reads: list[str] = []

        def read(name):
            reads.append(name)
            return arrays[name]

        found, listed = explain(terms, OwnNumbers(constants, read), frozenset(), earlier)
        return found, [each.relative for each in listed], reads

    folded = (W / np.sqrt(VARIANCE)[:, None]).astype(np.float32)
    earlier: dict = {}
    first, relative, read = of_new_terms(earlier, w=folded, v=W + 1)
    assert set(read) == {"w", "v"}
    assert earlier.keys() == {"w", "v"}
    assert earlier["v"] is None
    again, same_relative, nothing = of_new_terms(earlier, w=folded, v=W + 1)
    assert nothing == []
    assert (again.keys(), same_relative) == (first.keys(), relative) == ({"w"}, relative)


def test_the_structure_of_an_expression_holds_its_constants():
    terms, known = Terms(), {}
    one, other = (terms.constant(array, "float32") for array in (W, W + 1))
    half = terms.number(0.5, "float32")
    structures = {structure(terms.mul(each, half), known) for each in (one, other)}
    assert len(structures) == 2
    again = Terms()
    assert structure(again.mul(again.constant(W, "float32"), again.number(0.5, "float32")), {}) in (
        structures
    )


def test_an_order_that_moves_sizes_of_1_alone_is_not_compared_again(monkeypatch):
    made, asked = Terms(), []
    weight = made.constant(W.reshape(6, 3, 1, 1), "float32")
    made.mul(weight, made.reshape(made.inverse(made.constant(VARIANCE, "float32")), (6, 1, 1, 1)))
    real = explanations._fitting
    monkeypatch.setattr(
        explanations, "_fitting", lambda *given: asked.append(given[2].shape) or real(*given)
    )
    folded = np.asarray(W.astype(np.float64) / VARIANCE[:, None], np.float32)
    found, _ = explained(made, w=folded.reshape(6, 1, 1, 3))
    assert found["w"].shape == (6, 1, 1, 3)
    assert asked == [(6, 3, 1, 1)]
