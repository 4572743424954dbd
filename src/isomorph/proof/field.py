"""Tensors of residues modulo three random primes, for identity testing.

Sums and products are exact. Every other function is a keyed hash of its name and arguments, so
that equal results mean equal arguments. A value carries a bound of its degree as a polynomial in
the random elements, and of the size of its coefficients in bits; both bound the probability that
two different polynomials look alike.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.windows import every_window
from isomorph.proof.movement import moved
from isomorph.proof.term import FLOATS, MOVES, NoMeaningError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.core.trace import Array
    from isomorph.proof.term import Term

LOWEST, HIGHEST = 1 << 31, 1 << 32
"""The primes lie between: two residues fill 64 bits, and a product of two residues fits."""

PRIMES_BETWEEN = 98_182_656
"""How many primes there are between (203,280,221 below 2^32 less 105,097,565 below 2^31)."""

ODD = frozenset({"erf", "tanh", "sin", "tan", "sinh", "asinh", "atan", "asin", "atanh"})
"""Functions of which a minus sign of the argument is one of the result."""

PLANES = 3
"""How many primes: two leave the union over all comparisons of a large graph above 1e-12."""

_LIMB = 16
_INT = np.uint64


@dataclass(slots=True)
class Residues:
    """A tensor modulo each prime; ``top`` and ``low`` bound its coefficients as powers of two."""

    planes: tuple[Array, ...]
    degree: int = 1
    top: int = 0
    low: int = 0

    @property
    def bits(self) -> int:
        """The size of the largest coefficient, after the smallest is made a whole number."""
        return self.top - self.low


class FieldArithmetic:
    """Evaluates terms modulo primes that a seed chooses."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = np.random.default_rng(seed)
        found: list[int] = []
        while len(found) < PLANES:
            found = list(dict.fromkeys([*found, _prime(self._random)]))
        self.primes = tuple(found)
        self._key = hashlib.sha256(f"isomorph {seed}".encode()).digest()
        self._powers = [_powers_of_two(p) for p in self.primes]

    def chance(self, degree: int, bits: int) -> float:
        """The probability that two different tensors of this kind have the same residues."""
        vanishing = (bits / 31 + 1) / PRIMES_BETWEEN
        return float(math.prod(degree / p + vanishing for p in self.primes))

    def fresh(self, shape: Sequence[int]) -> Residues:
        """Random elements."""
        return Residues(
            tuple(self._random.integers(0, p, tuple(shape), dtype=_INT) for p in self.primes)
        )

    def constant(self, value: Array, dtype: str) -> Residues:
        """The exact residues of stored numbers; an infinite one is a symbol of its own."""
        if value.dtype.kind in "biu" and dtype not in FLOATS:
            planes = [_whole(value, p) for p in self.primes]
            return Residues(tuple(planes), 0, 64, 0)
        numbers = np.asarray(value, np.float64)
        finite = np.isfinite(numbers)
        if np.isnan(numbers).any():
            raise NoMeaningError("a constant that is not a number")
        fraction, exponent = np.frexp(np.where(finite, numbers, 0.0))
        mantissa = np.asarray(np.ldexp(fraction, 53), np.int64)
        exponent = np.asarray(exponent, np.int64) - 53
        planes = [
            (_whole(mantissa, p) * powers[exponent + _OFFSET]) % _INT(p)
            for p, powers in zip(self.primes, self._powers, strict=True)
        ]
        if not finite.all():
            for sign, name in ((1.0, "+infinity"), (-1.0, "-infinity")):
                symbol = self._from_state(self._word(name))
                where = ~finite & (np.sign(numbers) == sign)
                planes = [np.where(where, s, p) for s, p in zip(symbol, planes, strict=True)]
        top, low = _extent(mantissa, exponent)
        return Residues(tuple(planes), 0, top, low)

    def evaluate(self, term: Term, given: Sequence[Residues]) -> Residues:
        """The residues of a term, given those of its inputs."""
        if term.op in MOVES:
            planes = [moved(term, [each.planes[i] for each in given]) for i in range(PLANES)]
            top, low = max(x.top for x in given), min(x.low for x in given)
            return Residues(tuple(planes), max(x.degree for x in given), top, low)
        operations: dict[str, Callable[..., Residues]] = {
            "add": self._add,
            "mul": self._mul,
            "sum": self._sum,
            "matmul": self._matmul,
            "conv": self._conv,
            "inverse": self._inverse,
            "function": self._unknown,
            "largest": self._largest,
            "rows": self._rows,
            "whole": self._whole,
            "loop": self._whole,
            "lookup": self._lookup,
        }
        if term.op not in operations:
            raise NoMeaningError(f"{term.op} has no residues")
        return operations[term.op](term, *given)

    # -- polynomials ------------------------------------------------------------------------

    def _add(self, _: Term, a: Residues, b: Residues) -> Residues:
        planes = [
            (x + y) % _INT(p) for x, y, p in zip(a.planes, b.planes, self.primes, strict=True)
        ]
        top = max(a.top, b.top) + 1
        return Residues(tuple(planes), max(a.degree, b.degree), top, min(a.low, b.low))

    def _mul(self, _: Term, a: Residues, b: Residues) -> Residues:
        planes = [
            (x * y) % _INT(p) for x, y, p in zip(a.planes, b.planes, self.primes, strict=True)
        ]
        return Residues(tuple(planes), a.degree + b.degree, a.top + b.top, a.low + b.low)

    def _sum(self, term: Term, x: Residues) -> Residues:
        axes = term.attrs[0]
        planes = [
            plane.sum(axis=axes, dtype=_INT) % _INT(p)
            for plane, p in zip(x.planes, self.primes, strict=True)
        ]
        count = math.prod(term.inputs[0].shape[axis] for axis in axes)
        return Residues(tuple(planes), x.degree, x.top + count.bit_length(), x.low)

    def _matmul(self, _: Term, a: Residues, b: Residues) -> Residues:
        planes = [
            product_modulo(x, y, p) for x, y, p in zip(a.planes, b.planes, self.primes, strict=True)
        ]
        return self._products(a, b, planes, int(a.planes[0].shape[-1]))

    def _conv(self, term: Term, x: Residues, w: Residues) -> Residues:
        planes = [
            _convolution(term, image, kernel, p)
            for image, kernel, p in zip(x.planes, w.planes, self.primes, strict=True)
        ]
        return self._products(x, w, planes, math.prod(term.inputs[1].shape[1:]))

    def _products(self, a: Residues, b: Residues, planes: Sequence[Array], count: int) -> Residues:
        top = a.top + b.top + count.bit_length()
        return Residues(tuple(planes), a.degree + b.degree, top, a.low + b.low)

    def _inverse(self, term: Term, x: Residues) -> Residues:
        """Exact for constants; of other values, a function of which nothing is known."""
        if not term.static:
            return self._function("inverse", (x,), commutes=False)
        planes = []
        for plane, p in zip(x.planes, self.primes, strict=True):
            if not plane.all():
                raise NoMeaningError("a division by a constant that is zero in a field")
            planes.append(_power(plane, p - 2, p))
        return Residues(tuple(planes), 1, x.bits, -x.bits)

    # -- unknown functions ------------------------------------------------------------------

    def _word(self, name: str) -> Any:  # noqa: ANN401
        """A secret 64-bit number for a name."""
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).digest()
        return _INT(int.from_bytes(digest, "little"))

    def _state(self, x: Residues) -> Array:
        """The residues of every element in one 64-bit number."""
        first, second, third = x.planes
        with np.errstate(over="ignore"):
            packed = _mixed((first << _INT(32)) ^ second)
            return np.asarray(packed + _mixed(third ^ self._word("third")))

    def _from_state(self, state: Any) -> tuple[Array, ...]:  # noqa: ANN401
        return tuple(
            _mixed(state ^ self._word(f"result {i}")) % _INT(p) for i, p in enumerate(self.primes)
        )

    def _absorb(self, state: Any, value: Array) -> Array:  # noqa: ANN401
        with np.errstate(over="ignore"):
            return _mixed(
                _mixed(state + _INT(0x9E3779B97F4A7C15)) ^ _mixed(value ^ self._word("v"))
            )

    def _unknown(self, term: Term, *given: Residues) -> Residues:
        name = repr(term.attrs[:3])
        if term.attrs[0] in ODD and len(given) == 1:
            return self._odd(name, given[0])
        return self._function(name, given, commutes=term.attrs[3])

    def _odd(self, name: str, x: Residues) -> Residues:
        """An unknown function of which f(-x) = -f(x) is known: of x and -x, one is hashed."""
        turned = x.planes[0] > _INT(self.primes[0] // 2)

        def signed(planes: tuple[Array, ...]) -> tuple[Array, ...]:
            pairs = zip(planes, self.primes, strict=True)
            return tuple(np.where(turned, (_INT(p) - each) % _INT(p), each) for each, p in pairs)

        found = self._function(name, (Residues(signed(x.planes)),), commutes=False)
        return Residues(signed(found.planes))

    def _function(self, name: str, given: Sequence[Residues], *, commutes: bool) -> Residues:
        key = self._word(name)
        states = [self._state(each) for each in given]
        if commutes:
            with np.errstate(over="ignore"):
                state = key
                for each in states:
                    state = state + _mixed(each ^ key)
            state = _mixed(state)
        else:
            state = key
            for each in states:
                state = self._absorb(state, each)
        return Residues(self._from_state(state))

    def _largest(self, term: Term, x: Residues) -> Residues:
        """Of a set of elements, in any order: a sum of hashes knows none."""
        axes, types, _ = term.attrs
        key = self._word(repr(("largest", types)))
        with np.errstate(over="ignore"):
            hashed = _mixed(self._state(x) ^ key)
            if term.data is not None:
                hashed = np.where(term.data, _INT(0), hashed)
            state = _mixed(hashed.sum(axis=axes, dtype=_INT) + key)
        return Residues(self._from_state(state))

    def _rows(self, term: Term, x: Residues) -> Residues:
        """Of each row in its order, a different unknown number for each place of the result."""
        name, attrs, types, axis = term.attrs
        row = self._row_state(repr((name, attrs, types)), self._state(x), axis)
        places = np.arange(term.shape[axis], dtype=_INT)
        places = places.reshape((-1,) + (1,) * (term.rank - axis - 1))
        return Residues(self._from_state(self._absorb(row, places)))

    def _row_state(self, name: str, states: Array, axis: int) -> Array:
        with np.errstate(over="ignore"):
            places = _mixed(np.arange(states.shape[axis], dtype=_INT) + self._word(name))
            places = places.reshape((-1,) + (1,) * (states.ndim - axis - 1))
            hashed = _mixed(_mixed(states ^ self._word("row")) + places)
            summed = hashed.sum(axis=axis, dtype=_INT, keepdims=True)
        return _mixed(summed ^ self._word(name))

    def _whole(self, term: Term, *given: Residues) -> Residues:
        digest = hashlib.blake2b(repr((term.op, term.attrs)).encode(), key=self._key, digest_size=8)
        for each in given:
            for plane in each.planes:
                digest.update(np.ascontiguousarray(plane).tobytes())
        word = _INT(int.from_bytes(digest.digest(), "little"))
        count = math.prod(term.shape)
        state = self._absorb(word, np.arange(count, dtype=_INT)).reshape(term.shape)
        return Residues(self._from_state(state))

    def _lookup(self, term: Term, table: Residues, indices: Residues) -> Residues:
        """An unknown function of a column of the table and of the index."""
        axis = term.attrs[0]
        columns = self._row_state("lookup", self._state(table), axis)
        rank = term.inputs[1].rank
        lead, rest = columns.shape[:axis], columns.shape[axis + 1 :]
        column = columns.reshape((*lead, *(1,) * rank, *rest))
        index = self._state(indices).reshape(*term.inputs[1].shape, *(1,) * len(rest))
        return Residues(self._from_state(self._absorb(column, index)))


_OFFSET = 1200
"""Of exponents: those of float64 mantissas lie between -1127 and 971."""


def _powers_of_two(p: int) -> Array:
    half = pow(2, -1, p)
    powers = [pow(half, -e, p) if e < 0 else pow(2, e, p) for e in range(-_OFFSET, _OFFSET)]
    return np.array(powers, _INT)


def _whole(value: Array, p: int) -> Array:
    """Whole numbers modulo a prime."""
    if value.dtype.kind == "i":
        return np.asarray(np.asarray(value, np.int64) % np.int64(p), _INT)
    return np.asarray(np.asarray(value, _INT) % _INT(p), _INT)


def _extent(mantissa: Array, exponent: Array) -> tuple[int, int]:
    """The largest and smallest power of two in a tensor of floats."""
    used = mantissa != 0
    if not used.any():
        return 0, 0
    lowest = np.log2((mantissa & -mantissa)[used].astype(np.float64)).astype(np.int64)
    return int(exponent[used].max()) + 53, int((exponent[used] + lowest).min())


def _mixed(state: Any) -> Array:  # noqa: ANN401
    """The finalizer of splitmix64: every bit of the result depends on every bit."""
    with np.errstate(over="ignore"):
        state = np.asarray(state, _INT)
        state = (state ^ (state >> _INT(30))) * _INT(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> _INT(27))) * _INT(0x94D049BB133111EB)
        return np.asarray(state ^ (state >> _INT(31)))


def product_modulo(a: Array, b: Array, p: int) -> Array:
    """A product of matrices of residues: float64 sums of 16-bit limbs are exact."""
    longest = 1 << 19
    if a.shape[-1] > longest:
        parts = range(0, a.shape[-1], longest)
        pieces = (
            product_modulo(a[..., at : at + longest], b[..., at : at + longest, :], p)
            for at in parts
        )
        return np.asarray(sum(pieces) % _INT(p), _INT)
    low = _INT((1 << _LIMB) - 1)
    a0, a1 = (a & low).astype(np.float64), (a >> _INT(_LIMB)).astype(np.float64)
    b0, b1 = (b & low).astype(np.float64), (b >> _INT(_LIMB)).astype(np.float64)
    # Sums of at most 2^19 products of 17-bit numbers stay below 2^53.
    lows, highs = a0 @ b0, a1 @ b1
    mixed = (a0 + a1) @ (b0 + b1) - lows - highs
    m = _INT(p)
    whole = (highs.astype(_INT) % m * _INT(pow(2, 2 * _LIMB, p))) % m
    whole += (mixed.astype(_INT) % m * _INT(1 << _LIMB)) % m
    return np.asarray((whole + lows.astype(_INT) % m) % m, _INT)


def _convolution(term: Term, image: Array, kernel: Array, p: int) -> Array:
    strides, dilations, groups = term.attrs
    spatial = image.ndim - 2
    view = every_window(image, kernel.shape[2:], strides, dilations)
    places = term.shape[2:]
    channels, outputs = image.shape[1] // groups, kernel.shape[0] // groups
    results = []
    for group in range(groups):
        part = view[:, group * channels : (group + 1) * channels]
        order = (0, *range(2, 2 + spatial), 1, *range(2 + spatial, 2 + 2 * spatial))
        rows = part.transpose(order).reshape(image.shape[0] * math.prod(places), -1)
        columns = kernel[group * outputs : (group + 1) * outputs].reshape(outputs, -1).T
        found = product_modulo(rows, columns, p).reshape(image.shape[0], *places, outputs)
        results.append(np.moveaxis(found, -1, 1))
    return np.concatenate(results, 1)


def _power(base: Array, exponent: int, p: int) -> Array:
    result, m = np.ones_like(base), _INT(p)
    while exponent:
        if exponent & 1:
            result = result * base % m
        base = base * base % m
        exponent >>= 1
    return result


def _prime(random: np.random.Generator) -> int:
    while True:
        drawn = int(random.integers(LOWEST, HIGHEST)) | 1
        if _is_prime(drawn):
            return drawn


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test; these bases decide for every number below 3.3e24."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if any(number % base == 0 for base in bases):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True
