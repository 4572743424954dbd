"""Residues: exact sums and products, and hashes that know their arguments."""

from fractions import Fraction

import numpy as np
import pytest

from isomorph.proof.field import (
    HIGHEST,
    LOWEST,
    ODD,
    PLANES,
    FieldArithmetic,
    Residues,
    product_modulo,
)
from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms

P = 4294967291


@pytest.fixture
def field():
    return FieldArithmetic(3)


def test_primes_are_distinct_and_of_32_bits(field):
    assert len(set(field.primes)) == PLANES
    for p in field.primes:
        assert LOWEST < p < HIGHEST
        assert all(p % n for n in range(2, 70000))
    assert FieldArithmetic(4).primes != field.primes


def test_products_of_the_largest_residues_are_exact():
    a = np.full((2, 5000), P - 1, np.uint64)
    b = np.full((5000, 3), P - 2, np.uint64)
    expected = (P - 1) * (P - 2) * 5000 % P
    assert (product_modulo(a, b, P) == expected).all()


def test_products_of_random_residues_are_exact():
    random = np.random.default_rng(0)
    a, b = (random.integers(0, P, shape, dtype=np.uint64) for shape in ((3, 40), (40, 2)))
    expected = [[sum(int(x) * int(y) for x, y in zip(r, c, strict=True)) % P for c in b.T]
                for r in a]  # fmt: skip
    assert product_modulo(a, b, P).tolist() == expected


@pytest.mark.parametrize("number", [0.1, -3.5, 1e-45, 1.7e308, 2.0**-1074, 7.0, -0.0])
def test_constants_are_exact_fractions(field, number):
    exact = Fraction(number)
    for plane, p in zip(
        field.constant(np.array(number), "float64").planes, field.primes, strict=True
    ):
        assert int(plane) == exact.numerator * pow(exact.denominator, -1, p) % p


def test_whole_numbers_are_exact(field):
    values = np.array([-1, 2**62, -(2**63)], np.int64)
    for plane, p in zip(field.constant(values, "int64").planes, field.primes, strict=True):
        assert plane.tolist() == [int(each) % p for each in values]


def test_infinities_are_symbols_and_nan_is_refused(field):
    made = field.constant(np.array([np.inf, -np.inf, 0.0]), "float32")
    assert len({tuple(int(plane[at]) for plane in made.planes) for at in range(3)}) == 3
    with pytest.raises(NoMeaningError):
        field.constant(np.array(np.nan), "float32")


def evaluated(field, term, known):
    for each in term.inputs:
        if each.id not in known:
            evaluated(field, each, known)
    if term.id not in known:
        known[term.id] = (
            field.constant(term.value(), term.dtype)
            if term.op == "constant"
            else field.evaluate(term, [known[each.id] for each in term.inputs])
        )
    return known[term.id]


def test_static_inverses_are_exact_and_others_unknown(field):
    terms = Terms()
    three = terms.constant(np.array([3.0]), "float32")
    one = evaluated(field, terms.make("mul", (three, terms.inverse(three)), (1,), "float32"), {})
    assert [int(plane[0]) for plane in one.planes] == [1] * PLANES
    x = terms.input("x", (1,), "float32")
    known = {x.id: field.fresh((1,))}
    product = evaluated(field, terms.make("mul", (x, terms.inverse(x)), (1,), "float32"), known)
    assert [int(plane[0]) for plane in product.planes] != [1] * PLANES


def test_functions_know_name_order_and_attributes(field):
    terms = Terms()
    a, b = (terms.input(name, (4,), "float32") for name in "ab")
    known = {each.id: field.fresh((4,)) for each in (a, b)}

    def planes(name, arguments, **options):
        made = evaluated(field, terms.function(name, arguments, **options), known)
        return tuple(made.planes[0].tolist())

    assert planes("f", (a, b)) != planes("f", (b, a))
    assert planes("f", (a, b)) != planes("g", (a, b))
    assert planes("f", (a,), attrs=(1,)) != planes("f", (a,), attrs=(2,))
    assert planes("max", (a, b), commutes=True) == planes("max", (b, a), commutes=True)


def test_rows_know_their_order_and_sets_do_not(field):
    terms = Terms()
    x = terms.input("x", (2, 5), "float32")
    turned = terms.slice(x, 1, 4, 5, -1)
    known = {x.id: field.fresh((2, 5))}
    largest = [evaluated(field, terms.largest(each, (1,)), known) for each in (x, turned)]
    assert (largest[0].planes[0] == largest[1].planes[0]).all()
    rows = [evaluated(field, terms.rows("r", each, 1, None), known) for each in (x, turned)]
    assert (rows[0].planes[0] != rows[1].planes[0]).all()


def test_chance_grows_with_degree_and_coefficients(field):
    assert field.chance(1, 1) < field.chance(1000, 1) < field.chance(1000, 100000)
    assert field.chance(1000, 1000) < 1e-15
    assert Residues((), 2, 5, -3).bits == 8


@pytest.mark.parametrize("name", sorted(ODD))
def test_a_minus_sign_passes_an_odd_function(name):
    arithmetic, terms = FieldArithmetic(5), Terms()
    x = terms.input("x", (4,), "float32")
    given = arithmetic.fresh((4,))
    negative = terms.neg(x)
    minus = arithmetic.evaluate(negative, [arithmetic.constant(np.array(-1.0), "float32"), given])
    inside = arithmetic.evaluate(terms.function(name, (x,)), [given])
    behind = arithmetic.evaluate(terms.function(name, (x,)), [minus])
    for one, other, p in zip(inside.planes, behind.planes, arithmetic.primes, strict=True):
        assert ((one + other) % np.uint64(p) == 0).all()
        assert (one != other).all()


def test_a_minus_sign_does_not_pass_another_function():
    arithmetic, terms = FieldArithmetic(5), Terms()
    x = terms.input("x", (4,), "float32")
    given = arithmetic.fresh((4,))
    minus = arithmetic.evaluate(
        terms.neg(x), [arithmetic.constant(np.array(-1.0), "float32"), given]
    )
    exp = terms.function("exp", (x,))
    one, other = arithmetic.evaluate(exp, [given]), arithmetic.evaluate(exp, [minus])
    p = np.uint64(arithmetic.primes[0])
    assert ((one.planes[0] + other.planes[0]) % p != 0).all()
