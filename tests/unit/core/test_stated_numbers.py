"""The evidence of stated numbers that can be computed."""

import ast
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import isomorph.core.stated_numbers as stated
from isomorph.core.chance import student, threshold
from isomorph.measure.reached_values import few_values

RNG = np.random.default_rng(0)


def test_every_number_states_its_evidence():
    body = ast.parse(Path(stated.__file__).read_text("utf-8")).body
    for place, each in enumerate(body):
        if isinstance(each, ast.Assign):
            behind = body[place + 1]
            assert isinstance(behind, ast.Expr), ast.unparse(each)
            assert isinstance(behind.value.value, str), ast.unparse(each)


def cosines(left, right):
    return np.sum(left * right, axis=1) / (
        np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    )


@pytest.mark.parametrize(("bits", "least"), [(4, 0.98), (8, 0.9999)])
def test_quantized_weights_are_alike_and_unrelated_ones_are_not(bits, least):
    weights, others = RNG.standard_normal((2, 2000, 64))
    steps = np.abs(weights).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    assert cosines(weights, np.rint(weights / steps) * steps).min() > least > stated.ALIKE_COSINE
    assert cosines(weights, others).max() < stated.ALIKE_COSINE


def test_eight_bits_are_certain():
    assert stated.ALIKE_COSINE < stated.CERTAIN_COSINE < 0.9999


@pytest.mark.parametrize("draws", [stated.DRAWS, stated.MANY_DRAWS])
def test_normal_draws_do_not_jump(draws):
    rows = np.concatenate([np.zeros((1, 20_000)), RNG.standard_normal((draws, 20_000))])
    assert not few_values(rows)[0].any()


def test_a_few_of_many_sets_of_three_normal_draws_look_like_jumps():
    rows = np.concatenate([np.zeros((1, 20_000)), RNG.standard_normal((3, 20_000))])
    assert few_values(rows)[0].mean() < 0.03


def test_half_of_a_weight_is_not_missed_by_the_sample():
    n, quarter = stated.SAMPLED_ELEMENTS, stated.SAMPLED_ELEMENTS // 4
    chance = sum(math.comb(n, k) for k in range(quarter)) / 2**n
    assert chance < 1e-15


def test_three_standard_errors_have_the_stated_probability():
    assert pytest.approx(2 * NormalDist().cdf(-3), abs=1e-6) == stated.SHARE_BY_CHANCE


def test_many_draws_are_nearly_as_good_as_known_deviations():
    few, many = (student(1000, n) / threshold(1000) for n in (stated.DRAWS, stated.MANY_DRAWS))
    assert many < 1.6 < few


def test_a_sum_of_16384_terms_is_within_the_error_of_computed_constants():
    terms = RNG.uniform(0.0, 1.0, (50, 2**14)).astype(np.float32)
    exact = terms.astype(np.float64).sum(axis=1)
    one_by_one = np.cumsum(terms, axis=1, dtype=np.float32)[:, -1]
    assert np.all(np.abs(one_by_one - exact) <= stated.COMPUTED_ERROR * exact)
