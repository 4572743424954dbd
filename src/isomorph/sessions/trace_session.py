"""A record in the place of a model: it answers what was recorded, and cannot be asked anew.

So everything that compares models compares records as well. What was not recorded is an error
that names it; a tensor in the place of another would need the model, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.report import ModelForm
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.model import Model
    from isomorph.core.patch import Patch
    from isomorph.core.protocols import Session
    from isomorph.core.recording import OracleRecord, Record
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Array, Arrays

SEEDS = 1_000_003
"""The seed of a draw is that of its noise, times this, plus the number of the draw."""
RECORDED = 10
"""Draws that a trace holds."""


class Playback:
    """A session that only repeats what was recorded of one run: looked at, never changed."""

    capabilities: Capabilities
    environment: Environment

    def __init__(
        self,
        environment: Environment,
        inputs: Arrays,
        tensors: Arrays,
        oracle: OracleRecord | None = None,
    ) -> None:
        self.environment, self.inputs = environment, inputs
        self.tensors, self.oracle = tensors, oracle
        self.capabilities = Capabilities(fetch="all", feed="inputs", noise=oracle is not None)

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """The recorded values, provided that the feeds are the recorded ones."""
        for name, value in feeds.items():
            if name not in self.inputs or not _same(value, self.inputs[name]):
                raise _fixed(name)
        values = {name: _nested(self.tensors, name) for name in fetch}
        if noise is None or self.oracle is None or not noise.rounding:
            return values
        return {name: self._moved(name, value, noise) for name, value in values.items()}

    def close(self) -> None:
        """Nothing is held open."""

    def _moved(self, name: str, value: Any, noise: Noise) -> Any:  # noqa: ANN401
        """One of the recorded draws; of a tensor inside, one with the recorded spread."""
        assert self.oracle is not None
        kind = _kind(noise, self.oracle)
        # Wider noise was not recorded: the draws that were are what there is.
        number = noise.seed % SEEDS if noise.scale == 1.0 else noise.seed % RECORDED
        draw = self.oracle.draws.get(f"{kind}/{number}", {})
        if name in draw:
            return _nested(draw, name)
        spread = self.oracle.spread.get(kind, {}).get(name)
        if spread is None or not isinstance(value, np.ndarray):
            return value
        return _disturbed(value, *spread, seed=number)


def _kind(noise: Noise, oracle: OracleRecord) -> str:
    """The recorded kind of a noise; a model without run-time quantizers has none of their own."""
    if noise.quantizers:
        return "intended" if noise.constants else "execution"
    return "run_time" if noise.run_time and "run_time" in oracle.spread else "rounding"


def _disturbed(value: Array, rms: float, peak: float, *, seed: int) -> Array:
    """Moved by this root mean square, and at one place by this peak."""
    if not value.size or not np.isfinite(rms) or not np.isfinite(peak):
        return value
    signs = np.random.default_rng([seed, value.size]).choice((-1.0, 1.0), value.size)
    rest = max(0.0, value.size * rms**2 - peak**2) / max(1, value.size - 1)
    step = np.full(value.size, np.sqrt(rest)) * signs
    step[seed % value.size] = min(peak, rms * np.sqrt(value.size)) * signs[seed % value.size]
    moved: Array = value + step.reshape(value.shape)
    return moved


def _nested(tensors: Arrays, name: str) -> Any:  # noqa: ANN401
    """The tensor of this name, or the sequence or map that was flattened under it."""
    if name in tensors:
        return tensors[name]
    if f"{name}.keys" in tensors:
        keys, values = tensors[f"{name}.keys"], tensors[f"{name}.values"]
        return dict(zip(np.asarray(keys).tolist(), np.asarray(values).tolist(), strict=True))
    found: list[Any] = []
    while f"{name}[{len(found)}]" in tensors:
        found.append(tensors[f"{name}[{len(found)}]"])
    if found:
        return found
    raise RuntimeFailedError(
        "NOT_RECORDED",
        f"the trace has no tensor {name!r}",
        fix="record it again with: isomorph trace",
    )


def _same(left: Any, right: Any) -> bool:  # noqa: ANN401
    one, two = np.asarray(left), np.asarray(right)
    if one.shape != two.shape:
        return False
    return bool(np.array_equal(one, two, equal_nan=one.dtype.kind == two.dtype.kind == "f"))


def _fixed(name: str) -> RuntimeFailedError:
    return RuntimeFailedError(
        "TRACE_IS_FIXED",
        f"a trace cannot be run with another {name!r}",
        why="it holds the values of one run, not the model",
        fix="give the model itself in the place of its trace",
    )


class Elsewhere:
    """The host of a trace: whatever would need the model itself is refused."""

    isolation = "recorded"
    memory_bytes: int | None = None

    def warm(self, names: Sequence[str]) -> None:
        """Nothing is started."""

    def shares_worker(self, weights: int) -> bool:
        """Return True: there is one process."""
        del weights
        return True

    def load(self, source: Any, framework: str, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Nothing is loaded."""
        raise _fixed("model")

    def open(self, model: Model, environment: Environment) -> Session:
        """What was not recorded cannot be opened: an oracle, mostly."""
        raise RuntimeFailedError(
            "NOT_RECORDED",
            f"the trace holds no run in {environment.runtime!r}",
            file=model.location,
            fix="record it again without --no-oracle",
        )

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """No patch can be applied."""
        raise _fixed("graph")

    def rehearse(self, model: Model, patch: Patch, feeds: Arrays, fetch: Sequence[str]) -> Arrays:
        """No patch can be tried."""
        raise _fixed("graph")

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Nothing can be cut out."""
        raise _fixed("graph")

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A record, and the model handle that answers from it."""

    record: Record
    handle: ModelHandle

    @property
    def role(self) -> str:
        """The side on which it stands."""
        return self.handle.role

    @property
    def model(self) -> Model:
        """The description that was recorded."""
        return self.handle.model

    def captured(self) -> Playback:
        """The run that was looked into; ``handle`` gives the outputs of the untouched one."""
        return Playback(self.record.run.environment, self.record.inputs, self.record.run.tensors)


def replayed(role: str, record: Record) -> Replayed:
    """A record in the place of a model handle; whatever was not recorded is refused."""
    run, inputs = record.run, record.inputs
    written = replace(run.environment, facts={"recorded": "with every optimizer off"})
    sessions: dict[str, Session] = {
        "run": Playback(run.environment, inputs, {**run.tensors, **record.untouched}),
        "plain": Playback(written, inputs, record.written),
    }
    if record.oracle is not None:
        oracle = record.oracle
        sessions["oracle"] = Playback(oracle.environment, inputs, oracle.tensors, oracle)
    note = f"a trace of {record.model.location}, recorded by isomorph {record.version}"
    model = replace(
        record.model,
        location=record.location,
        notes=(note, *record.model.notes, *record.notes),
    )
    handle = ModelHandle(
        role=role,
        model=model,
        host=Elsewhere(),
        form=ModelForm.TRACE,
        runtime=run.environment.runtime,
        settings=run.environment.settings,
        _sessions=sessions,
    )
    return Replayed(record=record, handle=handle)
