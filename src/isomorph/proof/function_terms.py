"""Terms of functions of which nothing is known but their arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.proof.lower_bounds import least
from isomorph.proof.moved_terms import MovedTerms
from isomorph.proof.real import exact
from isomorph.proof.signs import always_defined
from isomorph.proof.size_functions import of_sizes
from isomorph.proof.sizes import any_size, broadcast_shapes, one, same
from isomorph.proof.term import PARTIAL, NoMeaningError, Term, array_digest

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(eq=False, slots=True)
class FunctionTerms(MovedTerms):
    """Unknown functions of elements, rows and whole tensors."""

    def function(
        self,
        name: str,
        arguments: Sequence[Term],
        *,
        attrs: tuple[Any, ...] = (),
        dtype: str | None = None,
        commutes: bool = False,
    ) -> Term:
        """An unknown function of single elements; ``commutes``: in any order of its arguments."""
        shape = broadcast_shapes(*(each.shape for each in arguments))
        arguments = self.unexpanded(arguments, shape)
        inner = _repeated(arguments, shape)
        if inner is not None:
            small = self.function(name, inner, attrs=attrs, dtype=dtype, commutes=commutes)
            return self.expand(self._exact(small), shape)
        if any(each.op == "sizes" for each in arguments):
            found = of_sizes(name, arguments, dtype or arguments[0].dtype)
            if found is not None:
                return self.stated(found, dtype or arguments[0].dtype)
        types = tuple(each.dtype for each in arguments if not each.is_float)
        given = self._sorted(*arguments) if commutes else tuple(arguments)
        if name in PARTIAL:
            self.require_one_mask(given[:1])
        key = (name, attrs, types, commutes)
        finite = None if name not in {"add of infinite", "mul of infinite"} else False
        if name in PARTIAL and not self._defined(name, given):
            finite = False
        dtype = dtype or arguments[0].dtype
        return self.make("function", given, shape, dtype, attrs=key, finite=finite)

    def require_one_mask(self, given: Sequence[Term]) -> None:
        """Refuse what depends on how small the weights are that count as zero.

        Near its poles a partial function does. Weights that all masks hide alike are equal in any
        case, and of an argument above a positive number the function depends on them by nothing.
        """
        if len(self.masks) < 2:
            return
        for each in map(self.known, given):
            if each.id in self.weights and not least(each) > 0:
                raise NoMeaningError("a weight that counts as zero may decide")

    def unexpanded(self, operands: Sequence[Term], shape: Sequence[int]) -> Sequence[Term]:
        """Operands of one elementwise result without expansions of constants that it makes anyway.

        Only where a size is a symbol: elsewhere a constant that is expanded is a constant.
        """
        if not any_size(shape):
            return operands
        found = list(operands)
        for place, each in enumerate(found):
            if each.op == "expand" and each.inputs[0].static:
                inner = [*found[:place], each.inputs[0], *found[place + 1 :]]
                if same(broadcast_shapes(*(one.shape for one in inner)), shape):
                    found = inner
        return found

    def _exact(self, term: Term) -> Term:
        """A function of constants, as a constant where every runtime computes it exactly."""
        if term.op != "function" or not all(each.op == "constant" for each in term.inputs):
            return term
        value = exact(term)
        return term if value is None else self.constant(value, term.dtype)

    def _defined(self, name: str, given: Sequence[Term]) -> bool:
        """Whether a partial function is finite everywhere; what is constant is tried elsewhere.

        Arithmetic with what may be infinite or no number is not that of real numbers.
        """
        static = all(each.static and each.finite for each in given)
        return static or (always_defined(given[0], name) and all(each.finite for each in given))

    def largest(self, x: Term, axes: Sequence[int], excluded: Array | None = None) -> Term:
        """The largest element over axes, which vanish; ``excluded`` elements do not count."""
        axes = tuple(sorted({self.axis(x, axis) for axis in axes}))
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        if not axes or (one(math.prod(x.shape[a] for a in axes)) and excluded is None):
            return self.reshape(x, shape)
        if not math.prod(x.shape[axis] for axis in axes):
            raise NoMeaningError("the largest of no elements")
        if excluded is not None:
            if np.all(excluded, axis=axes).any():
                raise NoMeaningError("the largest of no elements")
            if not excluded.any():
                excluded = None
        types = () if x.is_float else (x.dtype,)
        attrs = (axes, types, None if excluded is None else array_digest(excluded))
        return self.make("largest", (x,), shape, x.dtype, attrs=attrs, data=excluded)

    def rows(
        self,
        name: str,
        x: Term,
        axis: int,
        count: int | None,
        *,
        attrs: tuple[Any, ...] = (),
        dtype: str | None = None,
        finite: bool | None = None,
    ) -> Term:
        """An unknown function of each row along an axis, with ``count`` results in its place."""
        axis = self.axis(x, axis)
        size = x.shape[axis] if count is None else count
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        types = () if x.is_float else (x.dtype,)
        key = (name, attrs, types, axis)
        return self.make("rows", (x,), shape, dtype or x.dtype, attrs=key, finite=finite)

    def opaque(
        self,
        name: str,
        arguments: Sequence[Term],
        shape: Sequence[int],
        dtype: str,
        *,
        attrs: tuple[Any, ...] = (),
        finite: bool | None = False,
    ) -> Term:
        """An unknown function of whole tensors."""
        key = (name, attrs, tuple((each.dtype, each.shape) for each in arguments))
        return self.make("whole", arguments, shape, dtype, attrs=key, finite=finite)

    def lookup(self, table: Term, indices: Term, axis: int) -> Term:
        """Rows of a table at indices that depend on the inputs."""
        axis = self.axis(table, axis)
        shape = (*table.shape[:axis], *indices.shape, *table.shape[axis + 1 :])
        return self.make("lookup", (table, indices), shape, table.dtype, attrs=(axis,))

    def common(self, a: Term, b: Term) -> tuple[int, ...]:
        """The shape of an elementwise result of two tensors of one float type."""
        self._same_type(a, b)
        self._real(a)
        try:
            return broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise NoMeaningError("tensors whose shapes do not fit") from None

    def _single(self, x: Term, other: Term) -> Term:
        """A constant of one number, without axes that the other operand has anyway."""
        single = x.op == "constant" and x.shape and math.prod(x.shape) == 1
        return self.reshape(x, ()) if single and x.rank <= other.rank else x

    def _same_type(self, a: Term, b: Term) -> None:
        if a.dtype != b.dtype:
            raise NoMeaningError(f"operands of types {a.dtype} and {b.dtype}")

    def _real(self, x: Term) -> None:
        if not x.is_float:
            raise NoMeaningError(f"arithmetic of {x.dtype}, which may wrap or round")

    def _sorted(self, *terms: Term) -> tuple[Term, ...]:
        return tuple(sorted(map(self.known, terms), key=lambda each: each.id))

    def _is(self, x: Term, number: float) -> bool:
        """Whether a term is this single number."""
        return x.op == "constant" and not x.shape and float(x.value()) == number


def _repeated(operands: Sequence[Term], shape: Sequence[int]) -> list[Term] | None:
    """Constants that are repeated along axes of unknown sizes, without that; None of others."""
    if not any_size(shape):
        return None
    inner = [each.inputs[0] if each.op == "expand" else each for each in operands]
    return inner if all(each.op == "constant" for each in inner) else None
