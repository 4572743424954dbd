"""The main graph of a program whose tensors are known by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from isomorph.oracle.plan import Planner, constant_tensors
from isomorph.oracle.step import Scope, Step
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import FoldedConstants, WeightCache

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor


def same_in_every_run(step: Step[str], known: Container[str]) -> bool:
    """Whether a step reads known tensors alone and draws no random number."""
    return not step.random and all(name in known for name in step.needs)


class NamedGraph(ABC):
    """Steps on named tensors, with the plans, the weights and the folded constants of their runs.

    ``stored`` are the names of the tensors that have a value before anything has run, and
    ``weights`` reads them. ``folds`` decides whether a step follows from known tensors.
    """

    def __init__(
        self,
        steps: Sequence[Step[str]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        stored: Collection[str],
        weights: WeightCache[Any],
        folds: Callable[[Step[str], Container[str]], bool] = same_in_every_run,
    ) -> None:
        self.steps, self.inputs, self.outputs = tuple(steps), tuple(inputs), tuple(outputs)
        self.weights, self._stored_names = weights, stored
        self.planner: Planner[str, Step[str]] = Planner(self.steps, self.inputs, stored)
        self.folded = FoldedConstants(constant_tensors(self.steps, stored, folds))

    def find(self, name: str) -> str:
        """The name itself; the plan refuses an unknown one."""
        return name

    def name(self, key: str, scope: Scope) -> str:
        """The name itself."""
        return key

    def is_stored(self, key: str) -> bool:
        """Whether there is a stored tensor of this name."""
        return key in self._stored_names

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The stored tensor of this name."""
        if not self.is_stored(key):
            return None
        return executor.arithmetic.stored(key, self.weights.value(key))

    @property
    def keeps_weights(self) -> bool:
        """Whether all weights that were read stay between runs."""
        return self.weights.complete

    def reads_shared(self, *, between: int) -> AbstractContextManager[None]:
        """Within, a weight that is read stays until ``release_reads``, if several draws use it."""
        return self.weights.reads_shared(between=between)

    def release_reads(self) -> None:
        """Release the weights that were read since the last call, if nothing keeps them."""
        self.weights.release_reads()

    @abstractmethod
    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """What a fed array stands for."""

    def shown(self, key: str, value: EvalValue) -> Any:  # noqa: ANN401
        """The value in float64."""
        return value.wide()

    def clear(self) -> None:
        """Release lifted weights, plans and folded constants."""
        self.weights.clear()
        self.planner.clear()
        self.folded.clear()
