"""The float64 evaluation of a PyTorch program, silent or with the noise of its rounding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.kernels.noise import UNIT_ROUNDOFF, Rounding, generator, unit_roundoff
from isomorph.native.torch_arrays import FLOATS, dtype_name, is_float, to_array
from isomorph.native.torch_control import is_control, refuse_unsupported, run_control
from isomorph.native.torch_declared import declare
from isomorph.native.torch_interpreter import Planner, Values, call_target, execute, starting_values
from isomorph.native.torch_lift import cast, data_steps, declared_type, is_cast, lifted, reads_shape
from isomorph.native.torch_model import TorchModel
from isomorph.native.torch_noise import disturbed, rounds_nothing, stored
from isomorph.native.torch_program import Program, Step, replace_refs
from isomorph.native.torch_session import feed

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays

_KEPT_BYTES = 2 << 30
"""Lifted weights are kept up to this many bytes; beyond it they are lifted at each use."""


class TorchOracle:
    """One opened model in float64; always on the CPU."""

    def __init__(self, model: TorchModel, environment: Environment) -> None:
        refuse_unsupported(model.program)
        self.environment = environment
        self.program = model.program
        self.recorded = model.kind == "module"
        self.capabilities = Capabilities(fetch="all", feed="all", noise=True)
        self.planners = {"": Planner(model.program)}
        self.weights: dict[str, Any] = {}
        self._weight_bytes = 0
        self._magnitudes: dict[Any, Array] = {}
        self._magnitudes_of = ""

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; floats come back as float64."""
        plan = self.planners[""].plan(frozenset(feeds), tuple(fetch))
        run = _Run(self, noise, self._kept_magnitudes(feeds, noise))
        values = {
            name: lifted(feed_raw(self.program, name, array)) for name, array in feeds.items()
        }
        for name, value in feeds.items():
            run.tag_fed(self.program, name, value)
        disturbed_weights = run.disturbed_constants(plan.reads)
        values = {**disturbed_weights, **values}
        with torch.no_grad(), _declared_default():
            start = starting_values(self.program, values, plan, self.program.constants)
            steps = data_steps(plan.steps, set(values))
            fetched = execute(plan, start, fetch, run.evaluator(self.program, steps, ""))
        return {name: to_array(lifted(fetched[name])) for name in fetch}

    def close(self) -> None:
        """Let go of the lifted weights."""
        self.weights.clear()
        self._magnitudes.clear()

    def lifted_weight(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """A constant of the program in float64, lifted once as long as there is room."""
        known = self.weights.get(name)
        if known is not None:
            return known
        wide = lifted(value)
        size = wide.nbytes if isinstance(wide, torch.Tensor) else 0
        if self._weight_bytes + size <= _KEPT_BYTES:
            self._weight_bytes += size
            self.weights[name] = wide
        return wide

    def _kept_magnitudes(self, feeds: Arrays, noise: Noise | None) -> dict[Any, Array]:
        """Sizes of sums change by rounding only between draws, but not between feeds."""
        if noise is None or not noise.rounding:
            return {}
        digest = hashlib.blake2b()
        for name, value in sorted(feeds.items()):
            digest.update(name.encode())
            if isinstance(value, np.ndarray):
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        if digest.hexdigest() != self._magnitudes_of:
            self._magnitudes_of = digest.hexdigest()
            self._magnitudes = {}
        return self._magnitudes


class _Run:
    """What one run keeps besides the values: noise, found types, and disturbed tables."""

    def __init__(
        self, oracle: TorchOracle, noise: Noise | None, magnitudes: dict[Any, Array]
    ) -> None:
        self.oracle, self.noise = oracle, noise
        rounding = noise is not None and noise.rounding
        self.source = Rounding(noise.seed, cache=magnitudes) if noise and rounding else None
        self.tags: dict[str, torch.dtype] = {}
        # Constant-derived values twice more in float64, silent and noisy: their difference is
        # the spread of a table that the declared type has already rounded.
        self.tables: dict[str, tuple[Any, Any]] = {}
        self.entries = 0

    def disturbed_constants(self, reads: frozenset[str]) -> dict[str, Any]:
        """The named constants times (1 + u·ξ).

        Numbers written in the program (an epsilon, a factor) are doubles in torch, so there is
        nothing to round in them, and ``noise.attributes`` disturbs nothing here.
        """
        changed: dict[str, Any] = {}
        for name in self.noise.constants if self.noise else ():
            value = self.oracle.program.constants.get(name)
            if name not in reads or value is None or not is_float(value):
                continue
            unit = unit_roundoff(dtype_name(value.dtype))
            random = generator(self.noise.seed if self.noise else 0, ("constant", name))
            draw = torch.from_numpy(np.asarray(random.standard_normal(tuple(value.shape))))
            changed[name] = value.to(torch.float64) * (1.0 + unit * draw)
        return changed

    def tag_fed(self, program: Program, name: str, value: Any) -> None:  # noqa: ANN401
        """An undeclared value that is fed counts as what it is, a float64 one as float32."""
        if isinstance(value, np.ndarray) and declared_type(program.specs, self.tags, name) is None:
            if value.dtype.kind == "f":
                self.tags[name] = torch.float16 if value.dtype == np.float16 else torch.float32

    def evaluator(self, program: Program, data: frozenset[int], place: str) -> Any:  # noqa: ANN401
        """The function that computes one step of this program."""

        def evaluate(index: int, step: Step, values: Values) -> Any:  # noqa: ANN401
            site = (place, index)
            declare(program, step, values, self.tags)
            if index not in data:
                return self._constant_step(program, step, values, site)
            return self._data_step(program, step, values, site)

        return evaluate

    # --- steps that depend on constants and shapes alone -----------------------------------

    def _constant_step(
        self, program: Program, step: Step, values: Values, site: tuple[str, int]
    ) -> Any:  # noqa: ANN401
        arguments, named = _filled(step, lambda name: self._declared_value(program, name, values))
        if is_control(step):
            return run_control(step, arguments, self._body_runner(data=False))
        result = call_target(step, list(arguments), dict(named))
        if self.source is not None and not reads_shape(step) and _holds_floats(result):
            self._keep_tables(step, values, site, result)
        return result

    def _declared_value(self, program: Program, name: str, values: Values) -> Any:  # noqa: ANN401
        value = values[name]
        declared = declared_type(program.specs, self.tags, name)
        if is_float(value) and declared in FLOATS and value.dtype != declared:
            return value.to(declared)  # a lifted tensor whose shape alone is read
        return value

    def _keep_tables(self, step: Step, values: Values, site: tuple[str, int], result: Any) -> None:
        assert self.source is not None
        silent = _called_wide(step, *_filled(step, lambda name: self._table(name, values)[0]))
        arguments, named = _filled(step, lambda name: self._table(name, values)[1])
        self.source.enter(site, UNIT_ROUNDOFF["float32"])
        with _wide_default():
            noisy = disturbed(step, lifted(arguments), lifted(named), self.source)
        results, quiet, loud = (_as_list(step, each) for each in (result, silent, noisy))
        for name, own, one, two in zip(step.outputs, results, quiet, loud, strict=False):
            if is_float(own) and is_float(two) and one.shape == two.shape == own.shape:
                self.tables[name] = (one, two)

    def _table(self, name: str, values: Values) -> tuple[Any, Any]:
        value = lifted(values[name])
        return self.tables.get(name, (value, value))

    # --- steps that depend on data -----------------------------------------------------------

    def _wide_value(self, name: str, values: Values) -> Any:  # noqa: ANN401
        value = values[name]
        if not is_float(value) or value.dtype == torch.float64:
            return lifted(value)
        if value is self.oracle.program.constants.get(name):
            return self.oracle.lifted_weight(name, value)
        wide = value.to(torch.float64)
        if name in self.tables:
            silent, noisy = self.tables[name]
            step = noisy - silent
            return wide + torch.where(torch.isfinite(step), step, 0.0)
        return wide

    def _data_step(
        self, program: Program, step: Step, values: Values, site: tuple[str, int]
    ) -> Any:  # noqa: ANN401
        arguments, named = _filled(step, lambda name: self._wide_value(name, values))
        if is_control(step):
            return run_control(step, arguments, self._body_runner(data=True))
        out = declared_type(program.specs, self.tags, step.outputs[0]) if step.outputs else None
        if is_cast(step):
            before = declared_type(program.specs, self.tags, step.needs[0])
            return cast(arguments[0], before, out)
        if self.source is None:
            return _called_wide(step, arguments, named)
        narrow = out in FLOATS and out not in {torch.float32, torch.float64}
        unit = UNIT_ROUNDOFF["float32"] if narrow else unit_roundoff(dtype_name(out))
        self.source.enter(site, unit)
        with _wide_default():
            result = lifted(disturbed(step, lifted(arguments), lifted(named), self.source))
        # Narrow types accumulate in float32 and are rounded when they are stored.
        if narrow and not rounds_nothing(step):
            result = stored(result, unit_roundoff(dtype_name(out)), self.source.random)
        return result

    # --- bodies --------------------------------------------------------------------------------

    def _body_runner(self, *, data: bool) -> Any:  # noqa: ANN401
        def run_body(body: Program, given: Sequence[Any]) -> list[Any]:
            self.entries += 1
            planner = self.oracle.planners.setdefault(body.name, Planner(body))
            fed = dict(zip(body.inputs, given, strict=True))
            plan = planner.plan(frozenset(fed), tuple(name for name in body.outputs if name))
            start = starting_values(body, fed, plan, body.constants)
            steps = data_steps(plan.steps, set(fed) if data else set())
            evaluate = self.evaluator(body, steps, f"{body.name}{self.entries}")
            fetched = execute(plan, start, body.outputs, evaluate)
            return [fetched.get(name) for name in body.outputs]

        return run_body


def feed_raw(program: Program, name: str, array: Any) -> Any:  # noqa: ANN401
    """A fed array at its own width: the oracle takes float64 for any float."""
    spec = program.specs.get(name)
    is_real = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    if is_real and (spec is None or spec.dtype is None or spec.dtype in FLOATS):
        return torch.from_numpy(np.array(array, dtype=np.float64))
    return feed(program, name, array)


def _filled(step: Step, lookup: Any) -> tuple[list[Any], dict[str, Any]]:  # noqa: ANN401
    return list(replace_refs(step.args, lookup)), dict(replace_refs(step.kwargs, lookup))


def _called_wide(step: Step, arguments: list[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
    with _wide_default():
        return lifted(
            call_target(step, lifted(arguments), {k: lifted(v) for k, v in named.items()})
        )


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
def _declared_default() -> Iterator[None]:
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
