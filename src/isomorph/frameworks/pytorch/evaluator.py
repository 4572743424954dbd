"""The float64 evaluation of a PyTorch program, silent or with the noise of its rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from isomorph.core.threads import threads_per_side
from isomorph.core.trace import Capabilities, Noise
from isomorph.frameworks.pytorch.arrays import FLOATS, is_float, to_array
from isomorph.frameworks.pytorch.control_flow import refuse_unsupported
from isomorph.frameworks.pytorch.device_products import DeviceProducts
from isomorph.frameworks.pytorch.eval_run import OracleRun, declared_default, prepare_product
from isomorph.frameworks.pytorch.float64_steps import data_steps, lifted
from isomorph.frameworks.pytorch.interpreter import (
    Execution,
    Plan,
    execute,
    execute_together,
    planner_of,
    starting_values,
)
from isomorph.frameworks.pytorch.model import TorchModel
from isomorph.frameworks.pytorch.op_recorder import record_fed, writing
from isomorph.frameworks.pytorch.operand_devices import CPU
from isomorph.frameworks.pytorch.program import Program, Step
from isomorph.frameworks.pytorch.session import feed, in_order
from isomorph.frameworks.pytorch.weight_cache import LiftedWeights
from isomorph.oracle.magnitudes import KeptSizes, Magnitudes, asking
from isomorph.oracle.peak_bytes import PeakBytes, run_key
from isomorph.oracle.session import Keep
from isomorph.oracle.stored_matrix import multiplying_by


class TorchEvaluator:
    """One program in float64, on the CPU; products with large constants also on an accelerator."""

    def __init__(self, model: TorchModel, device: torch.device = CPU) -> None:
        refuse_unsupported(model.program)
        self._program = model.program
        self._model = model
        self._planners = {"": planner_of(model.program)}
        self._data = set(model.program.inputs)
        data_steps(enumerate(model.program.steps), self._data)
        self._weights = LiftedWeights(model.program.constants, model.release, device)
        self._products = None if device == CPU else DeviceProducts(device)
        self._magnitudes = Magnitudes()
        self._peaks = PeakBytes()

    @property
    def capabilities(self) -> Capabilities:
        """Any tensor of a program that can be cut, and only its interface otherwise."""
        cuttable = self._model.cuttable
        return Capabilities(
            fetch="all" if cuttable else "outputs",
            feed="all" if cuttable else "inputs",
            noise=True,
            gradients=cuttable,
        )

    def run(
        self,
        feeds: Mapping[str, Any],
        fetch: Sequence[str],
        noise: Noise | None = None,
        keep: Keep = lambda _, value: value,
    ) -> dict[str, Any]:
        """Compute ``fetch`` from ``feeds``; floats are returned in float64."""
        if self._model.cuttable:
            return self.run_draws([feeds], fetch, [noise], [keep])[0]
        with _few_threads():
            found = self._run_recorded(feeds, fetch, noise)
            return {name: keep(name, value) for name, value in found.items()}

    def gradients(
        self, feeds: Mapping[str, Any], weights: Mapping[str, Any]
    ) -> dict[str, np.ndarray[Any, Any]]:
        """The gradient of the weighted sum of tensors by every input of real numbers."""
        plan = self._planners[""].plan(frozenset(feeds), tuple(weights))
        run = self._new_run(None, KeptSizes())
        values = {
            name: lifted(feed_raw(self._program, name, array)) for name, array in feeds.items()
        }
        real = {name: value for name, value in values.items() if is_float(value)}
        with _few_threads(), torch.enable_grad(), declared_default():
            for value in real.values():
                value.requires_grad_()
            start = starting_values(self._program, values, plan, self._program.constants)
            steps = data_steps(plan.steps, set(values))
            found = execute(plan, start, tuple(weights), run.evaluator(self._program, steps, ""))
            total = sum(
                (found[name] * torch.from_numpy(np.asarray(weight, np.float64))).sum()
                for name, weight in weights.items()
            )
            if not isinstance(total, torch.Tensor) or not total.requires_grad:
                return {name: np.zeros(value.shape) for name, value in real.items()}
            slopes = torch.autograd.grad(total, list(real.values()), allow_unused=True)
        return {
            name: np.zeros(value.shape) if slope is None else slope.numpy()
            for (name, value), slope in zip(real.items(), slopes, strict=True)
        }

    def close(self) -> None:
        """Release the lifted weights."""
        self._weights.clear()
        self._magnitudes.clear()
        if self._products is not None:
            self._products.close()

    def draws_at_once(self, feeds: Mapping[str, Any], fetch: Sequence[str]) -> int:
        """How many draws like this are computed side by side: where weights are not kept.

        Each weight is then read and lifted once for all of them.
        """
        if self._weights.complete or not self._model.cuttable:
            return 1
        return self._peaks.runs_at_once(run_key(feeds, fetch))

    def run_draws(
        self,
        feeds: Sequence[Mapping[str, Any]],
        fetch: Sequence[str],
        noises: Sequence[Noise | None],
        keeps: Sequence[Keep],
    ) -> list[dict[str, Any]]:
        """As ``run`` once for each of these feeds and noises, node by node side by side.

        All feeds have the same names; they may have other numbers and sizes.
        """
        plan = self._planners[""].plan(frozenset(feeds[0]), tuple(fetch))
        sizes = self._magnitudes.of_each(feeds, noises, feeds)
        sized = asking(sizes, noises)
        with _few_threads(), torch.no_grad(), declared_default():
            draws = [
                self._begin(plan, own, fetch, self._new_run(noise, magnitudes), keep)
                for own, noise, keep, magnitudes in zip(feeds, noises, keeps, sizes, strict=True)
            ]

            def prepare(index: int, step: Step) -> None:
                if all(index in run.data for run, _ in draws):
                    prepare_product(step, draws, sized)

            executions = [execution for _, execution in draws]
            with multiplying_by(self._products):
                execute_together(plan, executions, prepare if len(draws) > 1 else None)
        self._peaks.note(run_key(feeds[0], fetch), draws[0][1].peak_bytes)
        return [execution.fetched for _, execution in draws]

    def _begin(
        self,
        plan: Plan,
        feeds: Mapping[str, Any],
        fetch: Sequence[str],
        run: OracleRun,
        keep: Keep,
    ) -> tuple[OracleRun, Execution]:
        values = {
            name: lifted(feed_raw(self._program, name, array)) for name, array in feeds.items()
        }
        for name, value in feeds.items():
            run.note_fed(values[name], value)
        shaken = run.disturb_constants(plan.reads)
        tables = {
            name: table for name in values if (table := self._table(name, values[name])) is not None
        }
        start = starting_values(self._program, {**values, **tables}, plan, self._program.constants)
        run.data = data_steps(plan.steps, {*values, *shaken} - set(tables))
        return run, Execution(
            start,
            fetch,
            run.evaluator(self._program, run.data, ""),
            lambda name, value: keep(name, to_array(run.wide_value(name, {name: value}))),
        )

    def _new_run(self, noise: Noise | None, magnitudes: KeptSizes) -> OracleRun:
        return OracleRun(self._weights, self._planners, noise, magnitudes)

    def _sizes(self, feeds: Mapping[str, Any], noise: Noise | None) -> KeptSizes:
        return KeptSizes() if noise is None else self._magnitudes.of(feeds)

    def _table(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """A fed value that no input reaches keeps its declared type, if that holds it exactly."""
        spec = self._program.specs.get(name)
        if name in self._data or name in self._program.constants or spec is None:
            return None
        if spec.dtype not in FLOATS or not isinstance(value, torch.Tensor):
            return None
        narrow = value.to(spec.dtype)
        exact = torch.equal(torch.nan_to_num(narrow.to(value.dtype)), torch.nan_to_num(value))
        return narrow if exact else None

    def _run_recorded(
        self, feeds: Mapping[str, Any], fetch: Sequence[str], noise: Noise | None
    ) -> dict[str, Any]:
        """Replay in float64 what one run of the model did with these feeds.

        Memory is written as the run wrote it, so every float is held wide from the start, also
        what depends on constants alone.
        """
        given = {name: feed(self._program, name, value) for name, value in feeds.items()}
        tape = record_fed(self._model, given)
        places = dict(zip(self._program.outputs, tape.outputs, strict=True))
        wanted = tuple(places[name] for name in fetch)
        run = self._new_run(noise, self._sizes(feeds, noise))
        plan = planner_of(tape).whole(wanted)
        values = {name: lifted(feed_raw(tape, name, value)) for name, value in feeds.items()}
        constants = {name: lifted(value).clone() for name, value in tape.constants.items()}
        with torch.no_grad(), declared_default():
            start = starting_values(tape, values, plan, constants)
            every = frozenset(range(len(tape.steps)))
            evaluate = writing(run.evaluator(tape, every, ""))
            fetched = execute(plan, start, wanted, evaluate)
        return {name: to_array(lifted(fetched[places[name]])) for name in fetch}


@contextmanager
def _few_threads() -> Iterator[None]:
    """The deployed run, which shares the process, keeps the threads it was given."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, threads_per_side()))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def feed_raw(program: Program, name: str, array: Any) -> Any:  # noqa: ANN401
    """A fed array at its own width: the oracle takes float64 for any float."""
    spec = program.specs.get(name)
    is_real = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    if is_real and (spec is None or spec.dtype is None or spec.dtype in FLOATS):
        wide = torch.from_numpy(np.array(array, dtype=np.float64))
        return wide if spec is None else in_order(wide, spec)
    return feed(program, name, array)
