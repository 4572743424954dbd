"""Terms that hold or move elements, and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.proof.movement import moved
from isomorph.proof.sizes import any_size, broadcast_shapes, dense, one, same, whole
from isomorph.proof.sunk_movement import Wanted
from isomorph.proof.term import (
    FLOATS,
    MOVES,
    STATED,
    NoMeaningError,
    Term,
    all_finite,
    array_digest,
    digest_of,
    refuse_nan,
)

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.kernels.rearrangement import Rearrangement


_REARRANGING = frozenset({"transpose", "reshape", "slice", "expand"})
"""Movement after which a tensor of one number is a tensor of that number."""


@dataclass(eq=False, slots=True)
class MovedTerms:
    """Constants, and what moves elements; making a term that exists returns it."""

    table: dict[tuple[Any, ...], Term] = field(default_factory=dict)
    all: list[Term] = field(default_factory=list)
    equal: dict[int, Term] = field(default_factory=dict)
    """Terms that are proven equal to an earlier one, by id."""
    vanishing: bool = False
    """Whether weights of a softmax that no type of numbers holds were taken for zero."""
    defined: set[int] = field(default_factory=set)
    """Terms that compute no constant outside the domain of a function, by id."""
    masks: set[str] = field(default_factory=set)
    """What hides scores of a softmax from all weights, on either side."""
    weights: set[int] = field(default_factory=set)
    """Softmaxes with scores that are hidden so, and terms that depend on one, by id."""
    depth: int = 0
    """Loops around what is being spelled."""
    written_out: int = 0
    """Loops around what is being spelled that are written out round by round."""
    results: list[Term] = field(default_factory=list)
    """What rounds of loops compute, as functions of their variables."""
    join: Callable[[Term], Term] | None = None
    """Finds an earlier result of a round that is equal for all values of the variables."""

    def make(
        self,
        op: str,
        inputs: Sequence[Term],
        shape: Sequence[int],
        dtype: str,
        *,
        attrs: tuple[Any, ...] = (),
        finite: bool | None = None,
        data: Any = None,  # noqa: ANN401
    ) -> Term:
        """The term of this operation on these terms, or on what they are proven to equal."""
        inputs = tuple(self.known(each) for each in inputs)
        sizes = tuple(whole(size) for size in shape)
        free = any_size((*sizes, *attrs))
        if op in MOVES and not free and all(each.op in STATED for each in inputs):
            return self._moved_constant(
                op, inputs, shape=sizes, dtype=dtype, attrs=attrs, data=data
            )
        if free and op in _REARRANGING and _repeats_one_number(inputs[0]):
            return self.expand(inputs[0].inputs[0], sizes)
        moved_behind = self._sunk(
            Wanted(op=op, inputs=inputs, shape=sizes, dtype=dtype, attrs=attrs, finite=finite)
        )
        if moved_behind is not None:
            return moved_behind
        key = (op, attrs, tuple(each.id for each in inputs), sizes, dtype)
        if key not in self.table:
            if finite is None:
                finite = all(each.finite for each in inputs)
            static = bool(inputs) and not free and all(each.static for each in inputs)
            made = Term(len(self.all), op, attrs, inputs, sizes, dtype, finite, static, data=data)
            self.all.append(made)
            self.table[key] = made
            if self.weights and any(each.id in self.weights for each in inputs):
                self.weights.add(made.id)
        return self.known(self.table[key])

    def _sunk(self, wanted: Wanted) -> Term | None:
        """The term with the movement of its inputs behind it, where there is arithmetic."""
        return None

    def _moved_constant(
        self,
        op: str,
        inputs: tuple[Term, ...],
        *,
        shape: tuple[int, ...],
        dtype: str,
        attrs: tuple[Any, ...],
        data: Any,  # noqa: ANN401
    ) -> Term:
        """A constant in another arrangement is a constant: the other side may store it so."""
        blank = Term(-1, op, attrs, inputs, shape, dtype, finite=True, static=True, data=data)
        return self.stated(moved(blank, [each.value() for each in inputs]), dtype)

    def known(self, term: Term) -> Term:
        """The earliest term that this one is proven to equal."""
        while term.id in self.equal:
            term = self.equal[term.id]
        return term

    def input(self, name: str, shape: Sequence[int], dtype: str) -> Term:
        """An input of both models; its elements are any finite numbers."""
        return self.make("input", (), shape, dtype, attrs=(name,), finite=True)

    def variable(self, name: tuple[Any, ...], shape: Sequence[int], dtype: str) -> Term:
        """A variable of the loop that is being spelled: any finite values."""
        attrs = ("variable of a loop", self.depth, name)
        return self.make("input", (), shape, dtype, attrs=attrs, finite=True)

    def joined(self, term: Term) -> Term:
        """The result of a round of a loop, or an earlier one that it is proven to equal."""
        found = self.known(term) if self.join is None else self.join(self.known(term))
        self.results.append(found)
        return found

    def constant(self, array: Array, dtype: str) -> Term:
        """A number or tensor that is given; of halves, as float32 where they do not hold it."""
        stored = dtype if dtype not in ("bfloat16", "float16") else "float32"
        value = np.array(array, stored, order="C", copy=True)
        if dtype == "float16":
            with np.errstate(over="ignore"):
                narrow = value.astype(np.float16)
            value = narrow if np.array_equal(narrow, value, equal_nan=True) else value
        refuse_nan(value)
        digest = digest_of(value, dtype)
        return self.stored(digest, value.shape, dtype, lambda: value, finite=all_finite(value))

    def stored(
        self,
        digest: str,
        shape: Sequence[int],
        dtype: str,
        read: Callable[[], Array],
        *,
        finite: bool,
        first: Array | None = None,
    ) -> Term:
        """A constant that is read when it is needed; equal digests are equal bytes."""
        made = self.make("constant", (), shape, dtype, attrs=(digest,), finite=finite)
        made.static = True
        if made.read is None:
            made.read, made.first = read, first
        return made

    def stated(self, array: Array, dtype: str) -> Term:
        """Numbers of which some may be sizes of dynamic axes."""
        if array.dtype != object or not any_size(array.flat):
            plain = np.array(array.tolist(), dtype) if array.dtype == object else array
            return self.constant(plain.reshape(array.shape), dtype)
        value = np.array(array, object, copy=True)
        attrs = (tuple(value.flat),)
        made = self.make("sizes", (), value.shape, dtype, attrs=attrs, finite=True)
        made.read = lambda: value
        return made

    def number(self, value: float, dtype: str) -> Term:
        """One number that an operator states, in the type that the operator computes with."""
        if dtype in FLOATS and dtype != "float64":
            value = float(np.float32(value))
        return self.constant(np.array(value, np.float64 if dtype in FLOATS else dtype), dtype)

    # -- movement ---------------------------------------------------------------------------

    def transpose(self, x: Term, order: Sequence[int]) -> Term:
        """Axes in another order."""
        order = tuple(int(axis) % x.rank for axis in order) if x.rank else ()
        if sorted(order) != list(range(x.rank)):
            raise NoMeaningError("an order of axes that is none")
        if x.op == "transpose":
            x, order = x.inputs[0], tuple(x.attrs[0][axis] for axis in order)
        if order == tuple(range(x.rank)):
            return self.known(x)
        if sorted(kept := [axis for axis in order if not one(x.shape[axis])]) == kept:
            # Axes of size 1 alone have moved: the elements keep their order.
            return self.reshape(x, [x.shape[axis] for axis in order])
        return self.make("transpose", (x,), [x.shape[a] for a in order], x.dtype, attrs=(order,))

    def reshape(self, x: Term, shape: Sequence[int]) -> Term:
        """The same elements in the same order; one size may be -1."""
        sizes = [whole(size) for size in shape]
        if sizes.count(-1) == 1:
            rest = math.prod(size for size in sizes if size != -1)
            if not rest:
                raise NoMeaningError("a size that cannot be inferred")
            sizes[sizes.index(-1)] = math.prod(x.shape) // rest
        if math.prod(sizes) != math.prod(x.shape) or any(size < 0 for size in sizes):
            raise NoMeaningError(f"a reshape of {list(x.shape)} to {sizes}")
        if x.op == "reshape":
            x = x.inputs[0]
        return self.known(x) if same(sizes, x.shape) else self.make("reshape", (x,), sizes, x.dtype)

    def rearranged(self, x: Term, rule: Callable[..., Rearrangement], *options: Any) -> Term:  # noqa: ANN401
        """The elements in the places that a rule gives them for the shape of the tensor."""
        try:
            to = rule(x.shape, *options)
        except ValueError as unfit:
            raise NoMeaningError(str(unfit)) from None
        return self.reshape(self.transpose(self.reshape(x, to.parted), to.order), to.joined)

    def slice(self, x: Term, axis: int, start: int, count: int, step: int = 1) -> Term:
        """``count`` elements of one axis, from ``start`` on, at every ``step``."""
        axis = self.axis(x, axis)
        last = start + (count - 1) * step
        if count < 0 or (count and not (0 <= start < x.shape[axis] and 0 <= last < x.shape[axis])):
            raise NoMeaningError("a slice beyond its axis")
        if same((start, step, count), (0, 1, x.shape[axis])):
            return self.known(x)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        step = 1 if one(count) or not count else step
        return self.make("slice", (x,), shape, x.dtype, attrs=(axis, start, count, step))

    def concat(self, parts: Sequence[Term], axis: int) -> Term:
        """Tensors one after the other along an axis."""
        axis = self.axis(parts[0], axis)
        if len(parts) == 1:
            return self.known(parts[0])
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        for part in parts:
            rest = [size for at, size in enumerate(part.shape) if at != axis]
            if rest != [size for at, size in enumerate(shape) if at != axis]:
                raise NoMeaningError("a concatenation of tensors of different sizes")
            if part.dtype != parts[0].dtype:
                raise NoMeaningError("a concatenation of tensors of different types")
        return self.make("concat", parts, shape, parts[0].dtype, attrs=(axis,))

    def pad(self, x: Term, before: Sequence[int], after: Sequence[int], fill: Term) -> Term:
        """A border of one value; a negative width takes elements away."""
        for axis, (low, high) in enumerate(zip(before, after, strict=True)):
            if low < 0 or high < 0:
                kept = x.shape[axis] + min(low, 0) + min(high, 0)
                x = self.slice(x, axis, max(-low, 0), kept)
        widths = tuple((max(int(a), 0), max(int(b), 0)) for a, b in zip(before, after, strict=True))
        if not any(map(sum, widths)):
            return self.known(x)
        if fill.shape or fill.dtype != x.dtype:
            raise NoMeaningError("a border that is no single number of the tensor's type")
        shape = [size + sum(width) for size, width in zip(x.shape, widths, strict=True)]
        return self.make("pad", (x, fill), shape, x.dtype, attrs=(widths,))

    def expand(self, x: Term, shape: Sequence[int]) -> Term:
        """Axes of size 1, or missing ones in front, repeated."""
        wanted = tuple(whole(size) for size in shape)
        try:
            fits = same(broadcast_shapes(x.shape, wanted), wanted)
        except ValueError:
            fits = False
        if not fits:
            raise NoMeaningError(f"an expansion of {list(x.shape)} to {list(wanted)}")
        if same(wanted, x.shape):
            return self.known(x)
        if x.op == "constant" and x.shape and math.prod(x.shape) == 1 and any_size(wanted):
            x = self.reshape(x, ())
        return self.make("expand", (x,), wanted, x.dtype)

    def counted(self, size: int) -> Term:
        """The numbers from zero up to a size; of one that is not known, a symbol of their own."""
        if not any_size((size,)):
            return self.constant(np.arange(size, dtype=np.int64), "int64")
        return self.make("whole", (), (size,), "int64", attrs=("counted", size), finite=True)

    def filled(self, number: Term, shape: Sequence[int]) -> Term:
        """A tensor of one number."""
        return self.expand(self.reshape(number, ()), shape)

    def take(self, x: Term, axis: int, indices: Array) -> Term:
        """Elements of one axis at given places; the axis is replaced by those of ``indices``."""
        axis = self.axis(x, axis)
        places = np.asarray(indices, np.int64)
        if (places < 0).any():
            places = np.where(places < 0, places + int(x.shape[axis]), places)
        if places.size and (places.min() < 0 or places.max() >= x.shape[axis]):
            raise NoMeaningError("an index beyond its axis")
        shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
        attrs = (axis, places.shape, array_digest(places))
        return self.make("take", (x,), shape, x.dtype, attrs=attrs, data=places)

    def windows(
        self, x: Term, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
    ) -> Term:
        """The windows of the last axes: [.., places.., kernel..]."""
        spatial = len(kernel)
        lead, sizes = x.shape[: x.rank - spatial], x.shape[x.rank - spatial :]
        places = [
            (size - (k - 1) * d - 1) // s + 1
            for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
        ]
        if any(place < 1 for place in places) or min(*kernel, *strides, *dilations) < 1:
            raise NoMeaningError("a window larger than its tensor")
        attrs = (tuple(kernel), tuple(strides), tuple(dilations))
        return self.make("windows", (x,), (*lead, *places, *kernel), x.dtype, attrs=attrs)

    def spread(self, x: Term, factors: Sequence[int]) -> Term:
        """The last axes with zeros between their elements."""
        if all(factor == 1 for factor in factors):
            return self.known(x)
        lead = x.rank - len(factors)
        sizes = [
            (size - 1) * factor + 1 for size, factor in zip(x.shape[lead:], factors, strict=True)
        ]
        return self.make(
            "spread", (x,), (*x.shape[:lead], *sizes), x.dtype, attrs=(tuple(factors),)
        )

    def select(self, mask: Array, a: Term, b: Term) -> Term:
        """``a`` where a constant mask holds, else ``b``; all of one shape."""
        mask = np.ascontiguousarray(np.broadcast_to(np.asarray(mask, bool), dense(a.shape)))
        if a.shape != b.shape or a.dtype != b.dtype:
            raise NoMeaningError("a selection from tensors of different shapes or types")
        if mask.all() or a is b:
            return self.known(a)
        if not mask.any():
            return self.known(b)
        return self.make("select", (a, b), a.shape, a.dtype, attrs=(array_digest(mask),), data=mask)

    def retype(self, x: Term, dtype: str) -> Term:
        """The same numbers in a type that holds them all."""
        return self.known(x) if dtype == x.dtype else self.make("retype", (x,), x.shape, dtype)

    def axis(self, x: Term, axis: int) -> int:
        """An axis, counted from the front."""
        if not -x.rank <= axis < x.rank:
            raise NoMeaningError("an axis that the tensor has not")
        return axis % x.rank


def _repeats_one_number(term: Term) -> bool:
    """Whether a term is one stated number, expanded."""
    return term.op == "expand" and term.inputs[0].op == "constant" and not term.inputs[0].shape
