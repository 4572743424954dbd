"""The float64 evaluation of a frozen TensorFlow graph, fed and fetched at any tensor."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.last_node import leave
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.tensorflow.eval_control import DEAD
from isomorph.frameworks.tensorflow.eval_run import Run
from isomorph.frameworks.tensorflow.eval_steps import Book
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.op_facts import constant_names, refuse_unsupported
from isomorph.frameworks.tensorflow.program import Spec, TfNode
from isomorph.frameworks.tensorflow.tensor_list_ops import from_feed, to_fetch
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.value import EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays

_PLANS = 64
"""Plans kept; a search that cuts everywhere would otherwise keep one for every cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Nodes in order, each with the tensors nobody reads after it."""

    steps: tuple[tuple[TfNode, tuple[str, ...]], ...]
    fetched: frozenset[str]


class TfOracle:
    """One opened model in float64."""

    capabilities = Capabilities(fetch="all", feed="all", bodies=False, noise=True)

    def __init__(self, model: TfModel, environment: Environment, file: str | None = None) -> None:
        refuse_unsupported(model.program, file)
        self.environment = environment
        self._program = model.program
        self._makers = {name: node for node in model.program.nodes for name in node.outputs}
        self._places = {node.name: place for place, node in enumerate(model.program.nodes)}
        self._inputs = tuple(port.tensor for port in model.program.inputs)
        self._constants = constant_names(model.program)
        self._book = Book()
        self._plans: dict[tuple[frozenset[str], tuple[str, ...]], Plan] = {}
        self._magnitudes: dict[Any, Array] = {}
        self._magnitudes_of = b""

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; floats come back in float64, the rest as declared."""
        plan = self._plan(frozenset(feeds), tuple(fetch))
        run = Run(noise, self._book, self._magnitudes_for(feeds) if noise is not None else None)
        values = {name: self._fed(name, value) for name, value in feeds.items()}
        stored = self._book.stored(self._program)

        def read(name: str) -> EvalValue:
            return values[name] if name in values else run.constant(name, stored[name])

        results = {
            name: self._shown(name, read(name))
            for name in fetch
            if name in values or name in stored
        }
        for node, finished in plan.steps:
            leave(node.name)
            outputs = run.step(self._program, node, read)
            # A node may leave outputs out; one that lacks fails where it is read.
            for name, held in zip(node.outputs, outputs, strict=False):
                # What is fed stays: another output of a node that runs anyway was cut.
                if name in feeds:
                    continue
                values[name] = run.constant(name, held)
                if name in plan.fetched:
                    results[name] = self._shown(name, values[name])
            for name in finished:
                values.pop(name, None)
        return {name: results[name] for name in fetch}

    def close(self) -> None:
        """Let go of the lifted constants and the magnitudes of sums."""
        self._book.clear()
        self._plans.clear()
        self._magnitudes = {}

    def _fed(self, name: str, value: Any) -> EvalValue:  # noqa: ANN401
        spec = self._program.specs.get(name, Spec())
        if isinstance(value, (list, tuple)):
            return EvalValue(lifted(from_feed(value)), dtype=spec.dtype)
        array = np.asarray(value)
        if array.dtype.kind in "SU":
            array = array.astype(str).astype(object)
        if not (is_float(spec.dtype) and is_float(array.dtype.name)):
            return EvalValue(lifted(array), dtype=spec.dtype, constant=name in self._constants)
        if name in self._constants:
            # Fed with its own value, a constant stays what it was.
            with np.errstate(over="ignore", invalid="ignore"):
                narrow = array.astype(numpy_dtype(str(spec.dtype)))
            if np.array_equal(narrow.astype(np.float64), lifted(array), equal_nan=True):
                return EvalValue(narrow, dtype=spec.dtype, constant=True)
        return EvalValue(lifted(array), dtype=spec.dtype)

    def _shown(self, name: str, held: EvalValue) -> Any:  # noqa: ANN401
        if held is DEAD:
            return None
        value = held.wide()
        if isinstance(value, list):
            dtype = self._program.specs.get(name, Spec()).dtype
            return to_fetch(value, "float64" if is_float(dtype) else dtype)
        array = np.asarray(value)
        if array.dtype.kind in "OS":
            words = [
                word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else str(word)
                for word in array.reshape(-1)
            ]
            return np.array(words, dtype=object).reshape(array.shape)
        return array

    def _plan(self, feeds: frozenset[str], fetch: tuple[str, ...]) -> Plan:
        key = (feeds, fetch)
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[key] = self._make_plan(feeds, fetch)
        return self._plans[key]

    def _make_plan(self, feeds: frozenset[str], fetch: tuple[str, ...]) -> Plan:
        self._refuse_unknown((*sorted(feeds), *fetch))
        needed: set[int] = set()
        waiting = [name for name in fetch if name not in feeds]
        while waiting:
            name = waiting.pop()
            node = self._makers.get(name)
            if node is None:
                self._refuse_missing(name)
            elif self._places[node.name] not in needed:
                needed.add(self._places[node.name])
                waiting += [read for read in node.inputs if read not in feeds]
        nodes = [self._program.nodes[place] for place in sorted(needed)]
        last: dict[str, int] = {}
        for place, node in enumerate(nodes):
            last.update(dict.fromkeys((*node.outputs, *node.inputs), place))
        finished: list[list[str]] = [[] for _ in nodes]
        for name, place in last.items():
            finished[place].append(name)
        return Plan(
            steps=tuple(zip(nodes, map(tuple, finished), strict=True)),
            fetched=frozenset(fetch) - feeds,
        )

    def _refuse_unknown(self, names: Sequence[str]) -> None:
        known = {*self._makers, *self._program.constants, *self._inputs}
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise UsageError(
                    "UNKNOWN_TENSOR", f"the model has no tensor {name!r}",
                    fix=f"did you mean {near[0]!r}?" if near else "isomorph inspect lists them",
                )  # fmt: skip

    def _refuse_missing(self, name: str) -> None:
        if name not in self._program.constants:
            raise UsageError(
                "MISSING_INPUT", f"nothing was fed for {name!r}",
                why=f"the model's inputs are {', '.join(self._inputs) or 'none'}",
                fix=f"feed {name!r}, or cut the graph below it",
            )  # fmt: skip

    def _magnitudes_for(self, feeds: Arrays) -> dict[Any, Array]:
        """The magnitudes of long sums, kept as long as the same values are fed."""
        mark = _digest(feeds)
        if mark != self._magnitudes_of:
            self._magnitudes, self._magnitudes_of = {}, mark
        return self._magnitudes


def _digest(feeds: Arrays) -> bytes:
    mark = hashlib.blake2b(digest_size=16)
    for name in sorted(feeds):
        mark.update(name.encode("utf-8", "surrogateescape"))
        value = feeds[name]
        arrays = value if isinstance(value, (list, tuple)) else [value]
        for array in map(np.asarray, arrays):
            mark.update(repr((array.shape, array.dtype.str)).encode())
            solid = array.dtype.kind != "O"
            mark.update(array.tobytes() if solid else repr(array.tolist()).encode())
    return mark.digest()
