"""Sizes of dynamic axes that stand for every size.

A ``Size`` is a polynomial of such sizes with whole coefficients. It is no ``int``: whatever asks
for a number raises ``UndecidedSizeError``, and so does a comparison that some sizes answer
otherwise than others. So what is spelled with it holds for every size, or is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NoReturn, cast

from isomorph.proof.term import NoMeaningError

LARGEST_SIZE = (1 << 31) - 2
"""Sizes are below the bound that files state where they mean the end of an axis."""


class UndecidedSizeError(NoMeaningError):
    """Something depends on the size of a dynamic axis in a way that one size alone answers."""


@dataclass(eq=False, slots=True)
class Symbol:
    """The size of a dynamic axis: any number from ``least`` to ``LARGEST_SIZE``.

    ``least`` becomes 2 where what is spelled holds for larger sizes than 1 alone. ``tried`` is the
    size that the inputs of the proof have.
    """

    name: str
    tried: int
    least: int = 1


_Monomial = tuple[str, ...]


class Size:
    """A polynomial of symbols that is no plain number; ``symbolic`` makes one."""

    __slots__ = ("_hash", "parts", "symbols")

    def __init__(self, parts: Mapping[_Monomial, int], symbols: Mapping[str, Symbol]) -> None:
        self.parts = dict(parts)
        used = {name for monomial in parts for name in monomial}
        self.symbols = {name: symbols[name] for name in used}
        self._hash = hash(("Size", frozenset(self.parts.items())))

    # -- arithmetic -------------------------------------------------------------------------

    def _other(self, other: object) -> Size | None:
        if isinstance(other, Size):
            return other
        if isinstance(other, bool) or not hasattr(other, "__index__"):
            return None
        return Size({(): int(cast(int, other))}, {})

    def _made(self, parts: Mapping[_Monomial, int], other: Size) -> Any:  # noqa: ANN401
        kept = {key: value for key, value in parts.items() if value}
        if set(kept) <= {()}:
            return kept.get((), 0)
        return Size(kept, {**self.symbols, **other.symbols})

    def _sum(self, other: object, sign: int) -> Any:  # noqa: ANN401
        added = self._other(other)
        if added is None:
            return NotImplemented
        parts = dict(self.parts)
        for key, value in added.parts.items():
            parts[key] = parts.get(key, 0) + sign * value
        return self._made(parts, added)

    def __add__(self, other: object) -> Any:  # noqa: ANN401
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:  # noqa: ANN401
        return self._sum(other, -1)

    def __rsub__(self, other: object) -> Any:  # noqa: ANN401
        return -1 * self + other

    def __neg__(self) -> Any:  # noqa: ANN401
        return self * -1

    def __mul__(self, other: object) -> Any:  # noqa: ANN401
        factor = self._other(other)
        if factor is None:
            return NotImplemented
        parts: dict[_Monomial, int] = {}
        for left, a in self.parts.items():
            for right, b in factor.parts.items():
                key = tuple(sorted(left + right))
                parts[key] = parts.get(key, 0) + a * b
        return self._made(parts, factor)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Any:  # noqa: ANN401
        divisor = self._other(other)
        if divisor is None:
            return NotImplemented
        found = _quotient(self, divisor)
        if found is None:
            raise UndecidedSizeError(f"{self} is divided by {divisor}")
        return self._made(found, divisor)

    def __rfloordiv__(self, other: object) -> NoReturn:
        raise UndecidedSizeError(f"{other} is divided by {self}")

    def __mod__(self, other: object) -> int:
        divisor = self._other(other)
        if divisor is None or _quotient(self, divisor) is None:
            raise UndecidedSizeError(f"the remainder of {self} divided by {other}")
        return 0

    def __rmod__(self, other: object) -> NoReturn:
        raise UndecidedSizeError(f"the remainder of {other} divided by {self}")

    # -- decisions that hold for every size -------------------------------------------------

    def _range(self, least: int | None = None) -> tuple[int, int]:
        """Bounds of its values; ``least`` is the least size that counts, if not each symbol's."""
        low = high = 0
        for monomial, factor in self.parts.items():
            few = many = factor
            for name in monomial:
                few *= max(self.symbols[name].least, least or 1)
                many *= LARGEST_SIZE
            low, high = low + min(few, many), high + max(few, many)
        return low, high

    def _decided(self, other: object, question: str) -> bool:
        """The answer to ``self - other < 0``, ``<= 0`` or ``== 0``, if every size has the same."""
        against = self._other(other)
        if against is None:
            raise UndecidedSizeError(f"{self} is compared with {other!r}")
        apart = self - against
        if not isinstance(apart, Size):
            return bool({"<": apart < 0, "<=": apart <= 0, "==": apart == 0}[question])
        found = _answer(apart._range(), question)
        if found is None:
            found = _answer(apart._range(2), question)
            if found is None:
                raise UndecidedSizeError(f"whether {self} {question} {against} differs")
            for symbol in apart.symbols.values():
                symbol.least = max(symbol.least, 2)
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, (Size, Number)):
            return NotImplemented
        return self._decided(other, "==")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._decided(other, "<")

    def __le__(self, other: object) -> bool:
        return self._decided(other, "<=")

    def __gt__(self, other: object) -> bool:
        return not self._decided(other, "<=")

    def __ge__(self, other: object) -> bool:
        return not self._decided(other, "<")

    def __bool__(self) -> bool:
        return not self._decided(0, "==")

    def __hash__(self) -> int:
        return self._hash

    # -- what only one size answers ---------------------------------------------------------

    def __index__(self) -> int:
        raise UndecidedSizeError(f"what it computes follows from {self} as a number")

    __int__ = __float__ = __complex__ = __index__

    def __str__(self) -> str:
        words = []
        for monomial, factor in sorted(self.parts.items(), reverse=True):
            names = "·".join(monomial)
            words.append(names if names and factor == 1 else f"{factor}·{names}".rstrip("·"))
        return " + ".join(words)

    __repr__ = __str__

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value where the symbols have these sizes."""
        return sum(
            factor * math.prod(sizes[name] for name in monomial)
            for monomial, factor in self.parts.items()
        )

    def tried(self) -> int:
        """Its value for the sizes that were tried."""
        return self.at({name: each.tried for name, each in self.symbols.items()})


def _answer(bounds: tuple[int, int], question: str) -> bool | None:
    low, high = bounds
    match question:
        case "<":
            return True if high < 0 else False if low >= 0 else None
        case "<=":
            return True if high <= 0 else False if low > 0 else None
        case _:
            return False if low > 0 or high < 0 else None


def _quotient(a: Size, b: Size) -> dict[_Monomial, int] | None:
    """The polynomial whose product with ``b`` is ``a``; None where there is none."""
    if not b.parts or not any(b.parts.values()):
        raise UndecidedSizeError("a division by zero")
    lead = max(b.parts, key=lambda key: (len(key), key))
    rest, found = dict(a.parts), dict[_Monomial, int]()
    for _ in range(64):
        if not rest:
            return found
        top = max(rest, key=lambda key: (len(key), key))
        left = _without(top, lead)
        if left is None or rest[top] % b.parts[lead]:
            return None
        factor = rest[top] // b.parts[lead]
        found[left] = factor
        for key, value in b.parts.items():
            product = tuple(sorted(left + key))
            rest[product] = rest.get(product, 0) - factor * value
        rest = {key: value for key, value in rest.items() if value}
    return None


def _without(monomial: _Monomial, divisor: _Monomial) -> _Monomial | None:
    left = list(monomial)
    for name in divisor:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)


def symbolic(symbol: Symbol) -> int:
    """The size of an axis, for any size; what takes an ``int`` takes it, or refuses it."""
    return cast(int, Size({(symbol.name,): 1}, {symbol.name: symbol}))


def is_size(value: object) -> bool:
    """Whether a number depends on the size of a dynamic axis."""
    return isinstance(value, Size)


def any_size(values: Iterable[object]) -> bool:
    """Whether one of the numbers, or of those in tuples among them, is a size."""
    return any(
        isinstance(each, Size) or (isinstance(each, tuple) and any_size(each)) for each in values
    )


def whole(value: object) -> int:
    """A whole number as an ``int``, or a size as it is."""
    return cast(int, value) if isinstance(value, Size) else int(cast(int, value))


def same(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are the same for every size; where some sizes differ, they are not.

    Only for rules that may be left out: what is not the same here may be so at single sizes.
    """
    return len(a) == len(b) and all(same_size(x, y) for x, y in zip(a, b, strict=True))


def same_size(a: int, b: int) -> bool:
    """Whether two sizes are the same for every size; see ``same``."""
    if isinstance(a, Size) and isinstance(b, Size):
        return a.parts == b.parts
    return not isinstance(a, Size) and not isinstance(b, Size) and a == b


def one(size: int) -> bool:
    """Whether a size is always 1; see ``same``."""
    return not isinstance(size, Size) and size == 1


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape with 1 in the place of every size that is not known."""
    return tuple(1 if isinstance(size, Size) else size for size in shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """NumPy's rule for elementwise results; a ``ValueError`` where shapes do not fit."""
    rank = max((len(shape) for shape in shapes), default=0)
    found = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if one(size) or same_size(found[place], size):
                continue
            if not one(found[place]):
                if any_size((size, found[place])):
                    raise UndecidedSizeError(f"a size of {size} beside one of {found[place]}")
                raise ValueError("shapes that do not fit")
            found[place] = size
    return tuple(found)


def kept_places(size: int, start: int | None, end: int | None, step: int = 1) -> tuple[int, int]:
    """The first place and the count of what a Python slice of an axis keeps."""
    if not any_size((size, start, end)):
        kept = range(size)[slice(start, end, step)]
        return (kept[0] if kept else 0), len(kept)
    if step != 1:
        raise UndecidedSizeError(f"every element {step} of an axis of {size}")
    first, last = (_clamped(size, bound, default) for bound, default in ((start, 0), (end, size)))
    return (first, last - first) if first < last else (0, 0)


def _clamped(size: int, bound: int | None, default: int) -> int:
    if bound is None:
        return default
    place = bound + size if bound < 0 else bound
    if place < 0:
        return 0
    return size if place >= size else place


def tried(value: Any) -> Any:  # noqa: ANN401
    """A value, or a tuple of any depth, with the sizes that were tried in the place of symbols."""
    if isinstance(value, Size):
        return value.tried()
    return tuple(tried(each) for each in value) if isinstance(value, tuple) else value
