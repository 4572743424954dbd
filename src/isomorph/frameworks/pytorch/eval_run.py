"""One run of the oracle: each step in float64 or in its declared type, silent or disturbed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from isomorph.core.trace import Noise
from isomorph.frameworks.pytorch.arrays import FLOATS, dtype_name, is_float
from isomorph.frameworks.pytorch.control_flow import is_control, run_control
from isomorph.frameworks.pytorch.convolution import as_array, plain_float64
from isomorph.frameworks.pytorch.declared_types import Declared
from isomorph.frameworks.pytorch.float64_steps import (
    cast,
    data_steps,
    is_cast,
    lifted,
    narrows,
    numbers_as_held,
    reads_shape,
)
from isomorph.frameworks.pytorch.interpreter import (
    Execution,
    Values,
    enter_body,
    execute,
)
from isomorph.frameworks.pytorch.op_noise import disturbed, rounds_nothing, stored
from isomorph.frameworks.pytorch.operand_devices import call_on_one_device
from isomorph.frameworks.pytorch.products import stored_product
from isomorph.frameworks.pytorch.program import Program, Step, plain_word, replace_refs
from isomorph.frameworks.pytorch.rounding_classes import SELECTS_ROWS
from isomorph.frameworks.pytorch.weight_cache import LiftedWeights
from isomorph.oracle.dtypes import HALVES
from isomorph.oracle.noise import UNIT_ROUNDOFF, generator, unit_roundoff
from isomorph.oracle.plan import Planner
from isomorph.oracle.rounded_constants import move_by_rounding, narrowing_shifts
from isomorph.oracle.rounding_rules import dtype_in_run
from isomorph.oracle.stored_matrix import SharedSizes
from isomorph.oracle.tied_noise import rounding_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.oracle.magnitudes import KeptSizes
    from isomorph.oracle.stored_matrix import StoredMatrix


_NUMPY_FLOATS = (torch.float16, torch.float32, torch.float64)


class Factors(NamedTuple):
    """The operands of a product with a large constant."""

    rows: Array
    matrix: StoredMatrix
    added: Any


class Prepared(NamedTuple):
    """The product of a run, which was computed with those of other runs."""

    rows: Array
    product: Array
    sizes: SharedSizes
    """Of the runs that compute them."""


class OracleRun:
    """What one run keeps besides the values: noise, found types, and disturbed tables."""

    def __init__(
        self,
        weights: LiftedWeights,
        planners: dict[str, Planner[str, Step]],
        noise: Noise | None,
        magnitudes: KeptSizes,
    ) -> None:
        self.weights, self.planners, self.noise = weights, planners, noise
        rounding = noise is not None and noise.rounding
        self.source = rounding_of(noise, magnitudes) if noise and rounding else None
        self.declared = Declared()
        self.shaken: frozenset[str] = frozenset()
        # Constant-derived values twice more in float64, silent and noisy: their difference is
        # the spread of a table that the declared type has already rounded.
        self.tables: dict[str, tuple[Any, Any]] = {}
        self.entries = 0
        self.data: frozenset[int] = frozenset()
        """The steps that depend on what is fed, or on a constant that this run disturbs."""
        self._prepared: Prepared | None = None

    def disturb_constants(self, reads: frozenset[str]) -> frozenset[str]:
        """Which of the constants that are read this run disturbs; each is when it is used.

        Numbers written in the program (an epsilon, a factor) are doubles in torch, so there is
        nothing to round in them, and ``noise.attributes`` disturbs nothing here.
        """
        named = self.noise.constants if self.noise else ()
        constants = self.weights.constants
        if self.noise is not None and self.noise.run_dtype:
            named = tuple(constants)
        self.shaken = frozenset(
            name
            for name in named
            if name in reads and name in constants and is_float(constants[name])
        )
        return self.shaken

    def _disturbed_constant(self, name: str) -> Any:  # noqa: ANN401
        """The constant after one more rounding: the same at every use within a run."""
        value = self.weights.constants[name]
        random = generator(self.noise.seed if self.noise else 0, ("constant", name))
        changed = value.clone() if value.dtype == torch.float64 else lifted(value.detach())
        # NumPy has no narrower types than float16; float64 holds their numbers as they are.
        stored = value.detach() if value.dtype in _NUMPY_FLOATS else changed
        changed = changed.contiguous()
        narrow = dtype_in_run(dtype_name(value.dtype), self.noise)
        if narrow != dtype_name(value.dtype):
            changed += torch.from_numpy(narrowing_shifts(changed.numpy(), str(narrow), random))
            return changed
        move_by_rounding(changed.numpy(), dtype_name(value.dtype), random, stored.numpy())
        self.weights.release_stored(changed)
        return changed

    def note_fed(self, value: Any, given: Any) -> None:  # noqa: ANN401
        """An undeclared float that is fed counts as what it is, a float64 one as float32."""
        if isinstance(given, np.ndarray) and given.dtype == np.float16:
            self.declared.note(value, torch.float16)

    def evaluator(self, program: Program, data: frozenset[int], place: str) -> Any:  # noqa: ANN401
        """The function that computes one step of this program."""

        def evaluate(index: int, step: Step, values: Values) -> Any:  # noqa: ANN401
            site = (place, index)
            if index not in data:
                return self._constant_step(program, step, values, site)
            types = self.declared.outputs(program, step, values)
            result = self._data_step(program, step, values, site, types)
            # Types are known as far as they are declared.
            for value, dtype in zip(_as_list(step, result), types, strict=False):
                self.declared.note(value, dtype)
            return result

        return evaluate

    def _constant_step(
        self, program: Program, step: Step, values: Values, site: tuple[str, int]
    ) -> Any:  # noqa: ANN401
        arguments, named = _filled(step, lambda name: self._declared_value(program, name, values))
        if is_control(step):
            return run_control(step, arguments, self._body_runner(data=False))
        result = call_on_one_device(step, list(arguments), dict(named))
        if self.source is not None and not reads_shape(step) and _holds_floats(result):
            self._keep_tables(step, values, site, result)
        return result

    def _declared_value(self, program: Program, name: str, values: Values) -> Any:  # noqa: ANN401
        value = values[name]
        declared = self.declared.of(program, name, value)
        if is_float(value) and declared in FLOATS and value.dtype != declared:
            return value.to(declared)  # a lifted tensor whose shape alone is read
        return value

    def _keep_tables(
        self, step: Step, values: Values, site: tuple[str, int], result: object
    ) -> None:
        assert self.source is not None
        silent = _called_wide(step, *_filled(step, lambda name: self._table(name, values)[0]))
        arguments, named = _filled(step, lambda name: self._table(name, values)[1])
        self.source.enter(site, UNIT_ROUNDOFF["float32"])
        with _wide_default():
            noisy = disturbed(step, lifted(arguments), lifted(named), self.source)
        results, quiet, loud = (_as_list(step, each) for each in (result, silent, noisy))
        # Outputs that nothing reads have no name.
        for name, own, one, two in zip(step.outputs, results, quiet, loud, strict=False):
            if is_float(own) and is_float(two) and one.shape == two.shape == own.shape:
                self.tables[name] = (one, two)

    def _table(self, name: str, values: Values) -> tuple[Any, Any]:
        value = lifted(values[name])
        return self.tables.get(name, (value, value))

    def wide_value(self, name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """A value as the oracle holds it: float64, with the spread of the table it may be."""
        value = values[name]
        if name in self.shaken and self.weights.owns(name, value):
            return self._disturbed_constant(name)
        if not is_float(value) or value.dtype == torch.float64:
            return lifted(value)
        if self.weights.owns(name, value):
            return self.weights.wide(name)
        wide = value.to(torch.float64)
        if name in self.tables:
            silent, noisy = self.tables[name]
            step = noisy - silent
            return wide + torch.where(torch.isfinite(step), step, 0.0)
        return wide

    def _data_step(
        self,
        program: Program,
        step: Step,
        values: Values,
        site: tuple[str, int],
        types: tuple[torch.dtype | None, ...],
    ) -> Any:  # noqa: ANN401
        if self._selects_stored_rows(step, values):
            arguments, named = _filled(step, lambda name: values[name])
            return lifted(call_on_one_device(step, arguments, named))
        out = self._computed(types[0] if types else None)
        factors = self.factors(step, values)
        if factors is not None:
            return self._multiplied(factors, site, out)
        arguments, named = _filled(step, lambda name: self.wide_value(name, values))
        if is_control(step):
            return run_control(step, arguments, self._body_runner(data=True))
        if is_cast(step):
            first = step.needs[0]
            before = self.declared.of(program, first, values[first])
            result = cast(arguments[0], before, out)
            if self.source is None or not narrows(before, out):
                return result
            # What the type rounds to may be the neighbor, once the value has been disturbed.
            self.source.enter(site, 0.0)
            shaken = stored(lifted(arguments[0]), str(dtype_name(out)), self.source.random)
            return torch.where(torch.isfinite(result), shaken, result)
        arguments = numbers_as_held(step, arguments, self._width(program, step, values, out))
        if self.source is None:
            return _called_wide(step, arguments, named)
        narrow = self._enter(site, out)
        with _wide_default():
            result = lifted(disturbed(step, lifted(arguments), lifted(named), self.source, narrow))
        if narrow and not rounds_nothing(step):
            result = stored(result, narrow, self.source.random)
        return result

    def _enter(self, site: tuple[str, int], out: torch.dtype | None) -> str:
        """Begin the noise of a step; the narrow type that its results are kept in, if any."""
        assert self.source is not None
        # Narrow types accumulate in float32 and are rounded when they are stored.
        narrow = self._kept_in(out)
        self.source.enter(
            site, UNIT_ROUNDOFF["float32"] if narrow else unit_roundoff(dtype_name(out))
        )
        return narrow

    def factors(self, step: Step, values: Values) -> Factors | None:
        """The operands of a product with a large constant that is lifted in blocks."""
        product = stored_product(step)
        if product is None or product.matrix in self.shaken or torch.is_grad_enabled():
            return None
        if not self.weights.owns(product.matrix, values[product.matrix]):
            return None
        matrix = self.weights.matrix(product.matrix)
        if matrix is None:
            return None
        x = self.wide_value(product.rows, values)
        added = None if product.added is None else self.wide_value(product.added, values)
        if not plain_float64(x) or not (added is None or plain_float64(added)):
            return None
        rows, right = as_array(x), matrix.T if product.transposed else matrix
        return Factors(rows, right, added) if right.multiplies(rows) else None

    def _multiplied(
        self, factors: Factors, site: tuple[str, int], out: torch.dtype | None
    ) -> torch.Tensor:
        rows, matrix, added = factors
        prepared, self._prepared = self._prepared, None
        result = torch.from_numpy(matrix.product(rows) if prepared is None else prepared.product)
        if added is not None:
            result = result + added
        self.weights.release_stored(matrix.stored)
        if self.source is None:
            return result

        def magnitude() -> Array:
            shared = None if prepared is None else prepared.sizes.of(prepared.rows)
            sizes = matrix.product_sizes(rows) if shared is None else shared
            self.weights.release_stored(matrix.stored)
            return sizes if added is None else sizes + np.abs(added.numpy())

        narrow = self._enter(site, out)
        moved = self.source.reduced(result.numpy(), magnitude, rows.shape[-1])
        result = torch.from_numpy(moved)
        return stored(result, narrow, self.source.random) if narrow else result

    def take(self, prepared: Prepared) -> None:
        """Take the product of the next step, which was computed with those of other runs."""
        self._prepared = prepared

    def _selects_stored_rows(self, step: Step, values: Values) -> bool:
        """Whether it takes rows of constants as they are stored: lifting these rows suffices."""
        return plain_word(step) in SELECTS_ROWS and all(
            self.weights.owns(name, values[name])
            and name not in self.shaken
            and values[name].dtype in _NUMPY_FLOATS
            for name in step.needs
            if is_float(values[name])
        )

    def _computed(self, declared: torch.dtype | None) -> torch.dtype | None:
        """The type that the run computes in, where it was asked for a narrower one."""
        if declared not in FLOATS:
            return declared
        name = dtype_in_run(dtype_name(declared), self.noise)
        # Nothing is stored in TF32: products read it out of float32.
        return getattr(torch, str(name), declared)

    def _kept_in(self, computed: torch.dtype | None) -> str:
        """The narrow type that results of this type are rounded to; empty where there is none."""
        name = dtype_in_run(dtype_name(computed), self.noise) or ""
        return name if name in HALVES else ""

    def _width(
        self, program: Program, step: Step, values: Values, out: torch.dtype | None
    ) -> torch.dtype | None:
        """The float type that a step computes in; a comparison's is that of its operands."""
        floats = [name for name in step.needs if is_float(values[name])]
        return self.declared.of(program, floats[0], values[floats[0]]) if floats else out

    def _body_runner(self, *, data: bool) -> Any:  # noqa: ANN401
        def run_body(body: Program, given: Sequence[Any]) -> list[Any]:
            self.entries += 1
            plan, start = enter_body(body, given, self.planners)
            steps = data_steps(plan.steps, set(body.inputs) if data else set())
            evaluate = self.evaluator(body, steps, f"{body.name}{self.entries}")
            fetched = execute(plan, start, body.outputs, evaluate)
            return [fetched.get(name) for name in body.outputs]

        return run_body


def prepare_product(
    step: Step, draws: Sequence[tuple[OracleRun, Execution]], sized: Sequence[int]
) -> None:
    """Multiply a large constant with the operands of all draws in one pass over it.

    The sizes of the products of the draws ``sized`` share another pass.
    """
    found = [run.factors(step, execution.values) for run, execution in draws]
    factors = [each for each in found if each is not None]
    if not factors or len(factors) < len(draws):
        return
    rows, matrix = [each.rows for each in factors], factors[0].matrix
    sizes = SharedSizes(matrix, [rows[place] for place in sized])
    for (run, _), own, product in zip(draws, rows, matrix.products(rows), strict=True):
        run.take(Prepared(own, product, sizes))


def _filled(step: Step, lookup: Any) -> tuple[list[Any], dict[str, Any]]:  # noqa: ANN401
    return list(replace_refs(step.args, lookup)), dict(replace_refs(step.kwargs, lookup))


def _called_wide(step: Step, arguments: list[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
    with _wide_default():
        return lifted(call_on_one_device(step, lifted(arguments), lifted(dict(named))))


def _as_list(step: Step, result: Any) -> list[Any]:  # noqa: ANN401
    return list(result) if step.listed else [result]


def _holds_floats(result: Any) -> bool:  # noqa: ANN401
    listed = result if isinstance(result, (list, tuple)) else [result]
    return any(is_float(value) for value in listed)


@contextmanager
def _wide_default() -> Iterator[None]:
    """Integers divided by integers become the default float: in the oracle, float64."""
    with _default(torch.float64):
        yield


@contextmanager
def declared_default() -> Iterator[None]:
    """What models are written with."""
    with _default(torch.float32):
        yield


@contextmanager
def _default(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
