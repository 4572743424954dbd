"""Run a wrong model again under other settings, in other runtimes, or node by node."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph import registry
from isomorph.core.errors import IsomorphError
from isomorph.core.execution import LOG_LINES, Execution, Switch
from isomorph.core.protocols import HasSwitches, ListsOptimizers
from isomorph.measure.budget_check import judge
from isomorph.measure.distance import differs
from isomorph.measure.precision import widths
from isomorph.measure.spread import Spread, merged
from isomorph.sessions.fetched_feeds import as_type, complete, converted
from isomorph.sessions.model_handle import completed

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.match.topology import Topology
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel


class Reruns:
    """Sessions of one evaluated model under changed settings, each opened once."""

    def __init__(
        self, evaluated: EvaluatedModel, outputs: Sequence[str], false_alarm: float
    ) -> None:
        self._evaluated, self._outputs, self._false_alarm = evaluated, outputs, false_alarm
        self._sessions: dict[tuple[str, frozenset[tuple[str, str]]], Session | None] = {}
        self._answers: dict[frozenset[tuple[str, str]], bool | None] = {}

    def execution(
        self, nodes: Sequence[Node], tensor: str, matcher: ValueMatcher | None
    ) -> Execution:
        """The experiments that causes can run at one fault."""
        environment = self._evaluated.runtime().environment
        runtime = registry.runtime(environment.runtime)
        switches = runtime.switches if isinstance(runtime, HasSwitches) else ()
        return Execution(
            environment=environment,
            plain=runtime.plain,
            right=self.right,
            steady=self.steady,
            alone=lambda name, settings: self._alone(nodes, tensor, matcher, name, settings),
            single=self.single,
            imitated=lambda change: self._imitated(nodes, tensor, matcher, change),
            switches=tuple(each for each in switches if each.has_effect(environment.settings)),
            others=self._others(environment.runtime),
        )

    def right(self, changed: Mapping[str, str]) -> bool | None:
        """Whether the wrong outputs are within their budget under these settings."""
        key = frozenset(changed.items())
        if key not in self._answers:
            self._answers[key] = self._judged(changed)
        return self._answers[key]

    def steady(self, changed: Mapping[str, str]) -> bool | None:
        """Whether two runs in one session agree bit for bit."""
        once, twice = self._run(changed), self._run(changed)
        return None if once is None or twice is None else not differs(once, twice)

    def single(self, changed: Mapping[str, str]) -> tuple[Switch, ...]:
        """The optimizers that ran under these settings, one switch for each."""
        runtime = registry.runtime(self._evaluated.runtime().environment.runtime)
        if not isinstance(runtime, ListsOptimizers):
            return ()
        listing = {key: "yes" for key in ("name_optimizers",) if key in runtime.settings}
        session = self._session("", {**changed, **listing})
        return () if session is None else runtime.optimizer_switches(session.environment.facts)

    def log(self, names: Sequence[str]) -> tuple[str, ...]:
        """Lines of the runtime's log that name these nodes, tensors and optimizers."""
        runtime = registry.runtime(self._evaluated.runtime().environment.runtime)
        if "log_about" not in runtime.settings or not names:
            return ()
        session = self._session("", {"log_about": json.dumps(list(names))})
        text = "" if session is None else session.environment.facts.get(LOG_LINES, "")
        return tuple(text.splitlines())

    def lands(self, predicted: Mapping[str, Array]) -> bool:
        """Whether the suspected run gives just these outputs, within its budget."""
        run = self._evaluated.runtime_outputs()
        return not isinstance(run, IsomorphError) and bool(self._agrees(run, predicted))

    def _judged(self, changed: Mapping[str, str]) -> bool | None:
        found, oracle_outputs = self._run(changed), self._evaluated.oracle_outputs()
        if found is None or isinstance(oracle_outputs, IsomorphError):
            return None
        return self._agrees(found, oracle_outputs)

    def _agrees(
        self, found: Mapping[str, Array], oracle_outputs: Mapping[str, Array]
    ) -> bool | None:
        """Whether outputs are right by the budget of the verdict; None where there is none."""
        spreads = self._spreads()
        if spreads is None:
            return None
        return all(
            judge(
                found[name],
                oracle_outputs[name],
                spreads[name],
                dtype=str(found[name].dtype),
                derivation="",
                false_alarm=self._false_alarm,
            ).within
            for name in self._outputs
        )

    def _spreads(self) -> Mapping[str, Spread | None] | None:
        """The budget of a right run against the oracle, as the verdict uses it."""
        rounding = self._evaluated.rounding()
        lossy = widths(self._evaluated.model.graph) or self._evaluated.run_dtype
        if isinstance(rounding, IsomorphError) or not lossy:
            return None if isinstance(rounding, IsomorphError) else rounding
        loss = self._evaluated.execution_loss()
        if isinstance(loss, IsomorphError):
            return rounding
        return {name: merged(spread, loss.get(name)) for name, spread in rounding.items()}

    def _run(self, changed: Mapping[str, str]) -> dict[str, Array] | None:
        session = self._session("", changed)
        if session is None:
            return None
        try:
            found = session.run(self._evaluated.feeds, list(self._outputs))
        except IsomorphError:
            return None
        return {name: np.asarray(value) for name, value in found.items()}

    def _session(self, runtime: str, changed: Mapping[str, str]) -> Session | None:
        key = runtime, frozenset(changed.items())
        handle = self._evaluated.handle
        if key not in self._sessions and handle is not None:
            asked = handle.environment_with({**handle.settings, **changed})
            if runtime:
                asked = replace(
                    asked,
                    runtime=runtime,
                    settings=completed(runtime, {**_exact(runtime), **changed}),
                    interpreter="",
                )
            try:
                self._sessions[key] = handle.host.open(handle.model, asked)
            except IsomorphError:
                self._sessions[key] = None  # not installed, or it cannot run this model
        return self._sessions.get(key)

    def _others(self, own: str) -> tuple[str, ...]:
        model = self._evaluated.model
        oracle = registry.framework(model.framework).oracle
        return tuple(
            name
            for name in registry.names("runtimes")
            if name not in {own, oracle} and registry.runtime(name).accepts(model)
        )

    def _alone(
        self,
        nodes: Sequence[Node],
        tensor: str,
        matcher: ValueMatcher | None,
        runtime: str,
        changed: Mapping[str, str],
    ) -> Array | None:
        """The nodes by themselves, fed with the oracle's values in the types of the run."""
        own = self._evaluated.runtime().environment.runtime
        session = self._session("" if runtime == own else runtime, changed)
        if session is None or matcher is None:
            return None
        names = _read(nodes, matcher.candidate.topology)
        exact = complete(matcher.reference.values, names)
        ran = complete(matcher.candidate.values, names)
        if exact is None or ran is None:
            return None
        feeds = converted(exact, {name: as_type(value.dtype) for name, value in ran.items()})
        try:
            return np.asarray(session.run(feeds, [tensor])[tensor])
        except IsomorphError:
            return None

    def _imitated(
        self,
        nodes: Sequence[Node],
        tensor: str,
        matcher: ValueMatcher | None,
        change: Callable[[Array], Array],
    ) -> Array | None:
        """The oracle's value with a change made to what the nodes read, constants included."""
        if matcher is None:
            return None
        oracle, graph = matcher.reference, matcher.reference.graph
        names = list(_read(nodes, oracle.topology))
        stored = [n for node in nodes for n in node.inputs if n in graph.constants]
        try:
            constants = oracle.run(stored)
            values = {**constants, **{n: oracle.values[n] for n in names if n in oracle.values}}
            given = {n: change(v) for n, v in values.items() if v.dtype.kind == "f"}
            return oracle.run([tensor], given).get(tensor)
        except (IsomorphError, ValueError):
            return None


def _exact(runtime: str) -> dict[str, str]:
    """The settings under which a runtime computes in the declared types."""
    owner = registry.runtime(runtime)
    switches = owner.switches if isinstance(owner, HasSwitches) else ()
    return {k: v for each in switches if each.kind == "precision" for k, v in each.settings.items()}


def _read(nodes: Sequence[Node], topology: Topology) -> set[str]:
    """What goes into these nodes from outside and depends on the inputs."""
    own = {name for node in nodes for name in node.outputs}
    return {source for node in nodes for source in topology.sources(node)} - own
