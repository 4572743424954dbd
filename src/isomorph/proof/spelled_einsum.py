"""Einstein's sums by their definition, as products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.terms import Terms


def einsum(t: Terms, equation: str, operands: Sequence[Term]) -> Term:
    """One or two operands, each with every letter once, and a stated result."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    given = left.split(",")
    words = [*given, result]
    plain = all(word.isalpha() or not word for word in words)
    once = all(len(set(word)) == len(word) for word in words)
    if not arrow or not plain or not once or len(given) != len(operands) or len(given) > 2:
        raise NoMeaningError(f"the equation {equation!r}")
    sizes: dict[str, int] = {}
    for word, x in zip(given, operands, strict=True):
        if len(word) != x.rank:
            raise NoMeaningError(f"the equation {equation!r} of other axes")
        for letter, size in zip(word, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise NoMeaningError(f"the equation {equation!r} of sizes that do not fit")
    if set(result) - set(sizes):
        raise NoMeaningError(f"the equation {equation!r}")
    alone = [
        _summed(t, x, word, result + "".join(given[:place] + given[place + 1 :]))
        for place, (word, x) in enumerate(zip(given, operands, strict=True))
    ]
    if len(alone) == 1:
        x, word = alone[0]
        return _ordered(t, x, word, result)
    return _product(t, alone[0], alone[1], result, sizes)


def _summed(t: Terms, x: Term, word: str, needed: str) -> tuple[Term, str]:
    """Without the letters that nothing else has."""
    gone = [at for at, letter in enumerate(word) if letter not in needed]
    return t.sum(x, gone), "".join(letter for letter in word if letter in needed)


def _ordered(t: Terms, x: Term, word: str, wanted: str) -> Term:
    return t.transpose(x, [word.index(letter) for letter in wanted])


def _product(
    t: Terms, one: tuple[Term, str], other: tuple[Term, str], result: str, sizes: dict[str, int]
) -> Term:
    (a, left), (b, right) = one, other
    batch = "".join(letter for letter in result if letter in left and letter in right)
    inner = "".join(letter for letter in left if letter in right and letter not in result)
    rows = "".join(letter for letter in left if letter not in right)
    columns = "".join(letter for letter in right if letter not in left)

    def count(word: str) -> int:
        return math.prod(sizes[letter] for letter in word)

    lead = [sizes[letter] for letter in batch]
    a = t.reshape(_ordered(t, a, left, batch + rows + inner), (*lead, count(rows), count(inner)))
    b = t.reshape(
        _ordered(t, b, right, batch + inner + columns), (*lead, count(inner), count(columns))
    )
    y = t.matmul(a, b) if inner else t.mul(a, b)
    made = batch + rows + columns
    return _ordered(t, t.reshape(y, [sizes[letter] for letter in made]), made, result)
