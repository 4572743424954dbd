"""Functions of sizes are computed where every size gives the same polynomial or answer."""

import numpy as np
import pytest

from isomorph.proof.size_functions import positive
from isomorph.proof.sizes import Symbol, UndecidedSizeError, same, symbolic
from isomorph.proof.terms import Terms

T = Terms()
N = symbolic(Symbol("n", 7))
SIZES = T.stated(np.array([N, 4], object), "int64")
TWO = T.constant(np.array(2, np.int64), "int64")


def of(name, *arguments, **options):
    return T.function(name, arguments, **options)


def test_arithmetic_of_sizes_is_that_of_polynomials():
    assert same(tuple(of("int mul", SIZES, TWO).value()), (2 * N, 8))
    assert same(tuple(of("int add", SIZES, TWO).value()), (N + 2, 6))
    assert same(tuple(of("int sub", SIZES, SIZES).value()), (0, 0))
    assert of("int sub", SIZES, SIZES).op == "constant"
    assert same(tuple(of("int div", of("int mul", SIZES, TWO), TWO).value()), (N, 4))


def test_comparisons_that_every_size_answers_alike_are_constants():
    zero = T.constant(np.array(0, np.int64), "int64")
    found = of("equal", SIZES, zero, dtype="bool")
    assert found.op == "constant"
    assert found.value().tolist() == [False, False]
    chosen = of("where", found, TWO, SIZES, dtype="int64")
    assert same(tuple(chosen.value()), (N, 4))
    assert same(tuple(of("max", SIZES, zero).value()), (N, 4))


@pytest.mark.parametrize("name", ["equal", "less", "less_equal", "max", "min", "int div"])
def test_what_sizes_answer_differently_is_refused(name):
    seven = T.constant(np.array(7, np.int64), "int64")
    with pytest.raises(UndecidedSizeError):
        of(name, SIZES, seven)


def test_movement_of_sizes_leaves_numbers_where_no_size_is_left():
    assert T.take(SIZES, 0, np.array(1)).op == "constant"
    assert T.take(SIZES, 0, np.array(0)).op == "sizes"
    assert same(tuple(T.concat([SIZES, SIZES], 0).value()), (N, 4, N, 4))
    assert T.stated(np.array([3, 4], object), "int64") is T.constant(np.array([3, 4]), "int64")


def test_an_unknown_function_of_sizes_is_no_number():
    found = of("mod", SIZES, TWO)
    assert found.op == "function"
    assert not found.static
    assert of("cast", SIZES, attrs=("int64", "float32"), dtype="float32").op == "sizes"
    assert of("cast", SIZES, attrs=("int64", "bool"), dtype="bool").op == "function"


def test_sizes_are_positive_where_all_are():
    assert positive(SIZES)
    assert not positive(T.stated(np.array([N, 0], object), "int64"))
    whole = T.stated(np.array(N, object), "float32")
    assert T.inverse(whole).finite
