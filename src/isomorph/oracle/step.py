"""One node of a graph for the executor; each framework defines how its nodes are computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.oracle.call import Call
from isomorph.oracle.noise import NoiseSource
from isomorph.oracle.rounding_rules import arithmetic_unit, difference
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.noise import Array
    from isomorph.oracle.stored_matrix import StoredMatrix

K = TypeVar("K", bound=Hashable)

Read = Callable[[Any], EvalValue]
"""Returns the value of a tensor by its key."""


View = Callable[[EvalValue], Any]
"""How a node takes an input: one of the three below."""
DECLARED: View = EvalValue.working
"""In the type that the declared arithmetic is done in."""
STILL: View = EvalValue.still
"""In float64, without the noise of the draw."""
WIDE: View = EvalValue.wide
"""In float64, with the noise of the draw."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The bodies around a node: the prefix of its name, and the nodes and rounds it runs in."""

    prefix: str = ""
    rounds: tuple[Any, ...] = ()

    def inside(self, *rounds: Any, prefix: str = "") -> Scope:  # noqa: ANN401
        """The scope of a body within this one."""
        return Scope(self.prefix + prefix, (*self.rounds, *rounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC, Generic[K]):
    """One node: what it reads and gives, and the facts that decide how it is evaluated.

    ``rule`` evaluates a node that runs bodies or keeps a state; other nodes are computed.
    ``passes``: it returns its inputs as they are. ``shape_only``: it reads the shape of its inputs
    alone. ``discrete``: its float result is discrete among constants, and noise must not make it
    jump. ``exact``: it never rounds. ``random``: it draws random numbers. ``narrow``: it is
    computed in its declared types even on data. ``disturbable``: an attribute is a number that a
    file had to round. ``states`` are the keys and declared types of what it writes beside its
    outputs.
    """

    absent: ClassVar[Any] = ""
    """The key of an optional input that is not there."""

    index: int
    name: str
    op: str
    inputs: tuple[K, ...]
    outputs: tuple[K, ...]
    attributes: Mapping[str, Any]
    rule: Rule | None = None
    passes: bool = False
    shape_only: bool = False
    discrete: bool = False
    exact: bool = False
    random: bool = False
    narrow: bool = False
    disturbable: bool = False
    states: tuple[tuple[Any, str], ...] = ()

    @property
    def needs(self) -> tuple[K, ...]:
        """Every tensor it reads."""
        return tuple(key for key in self.inputs if key != self.absent)

    @property
    def gives(self) -> tuple[K, ...]:
        """Every tensor it defines."""
        return tuple(key for key in self.outputs if key != self.absent)

    def site(self, scope: Scope) -> tuple[Any, ...]:
        """A key of this node in this scope, for its noise."""
        return (*scope.rounds, self.index)

    @abstractmethod
    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """What its kernel is called with, without noise, and the declared types of its outputs."""

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """The arrays that its kernel takes."""
        return [view(value) for value in inputs]

    @property
    def weight_places(self) -> tuple[int, ...]:
        """The places of the inputs of which its kernel makes weights (``Call.of_weights``)."""
        return ()

    @property
    def multiplies(self) -> bool:
        """Whether it may be a product with a stored matrix (``factors``)."""
        return False

    def factors(self, inputs: Sequence[EvalValue]) -> tuple[Array, StoredMatrix] | None:
        """An operand and the large stored matrix that it is multiplied with, if it is that."""
        return None

    @abstractmethod
    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Its results from arrays of any float type, with the noise of the call."""

    def compute_declared(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Its results from arrays of the declared types."""
        return self.compute(call, arrays)

    def tag(self, result: Any, declared: str | None) -> str | None:  # noqa: ANN401
        """The declared type of a result, given what the graph declares of it."""
        return declared

    def table(self, inputs: Sequence[EvalValue]) -> Array | None:
        """The stored integers that the node looks up; None where it looks up none."""
        return None

    def unit(self, dtype: str | None) -> float:
        """The unit roundoff of its arithmetic."""
        return arithmetic_unit(dtype)

    def storage_steps(self, dtype: str | None) -> float:
        """By how many units roundoff storing a result in a narrow type may be off."""
        return 1.0

    def disturbed_constants(
        self,
        values: list[EvalValue],
        moved: Sequence[Any],
        still: Sequence[Any],
        noise: Noise,
    ) -> list[EvalValue]:
        """Its constant results, with how far noise moves each of them in float64."""
        values = self.moved_constants(values, moved, noise)
        # A kernel gives optional outputs that the node leaves out.
        for value, one, other in zip(values, moved, still, strict=False):
            value.shift = difference(one, other) if self.shifts(value) else None
        return values

    def moved_constants(
        self, values: list[EvalValue], moved: Sequence[Any], noise: Noise
    ) -> list[EvalValue]:
        """Its constant results, those replaced that noise moves themselves."""
        return values

    def shifts(self, value: EvalValue) -> bool:
        """Whether noise moves a constant result beside its value."""
        return True

    def place(self, scope: Scope) -> str:
        """The node as an error names it."""
        return scope.prefix + self.name

    def failed(self, error: Exception, scope: Scope) -> RuntimeFailedError:
        """The error for a node that could not be computed."""
        return RuntimeFailedError(
            "NODE_FAILED",
            "the oracle could not compute a node",
            where=self.place(scope),
            why=f"{type(error).__name__}: {error}",
            fix="check the shapes and attributes of this node's inputs",
        )


class Rule(Protocol):
    """Evaluates a node that is not computed by a kernel."""

    def __call__(
        self,
        executor: Executor,
        step: Any,  # noqa: ANN401
        inputs: list[EvalValue],
        read: Read,
        scope: Scope,
        /,
    ) -> list[EvalValue]:
        """The outputs of the node; ``read`` returns tensors of the graph around it."""
        ...


class Body(Protocol[K]):
    """A graph, or the body of a loop, branch or function: steps in order."""

    @property
    def steps(self) -> Sequence[Step[K]]:
        """Its nodes, each after those that it reads."""
        ...

    @property
    def outputs(self) -> Sequence[K]:
        """The tensors that it returns."""
        ...

    def stored(self, key: K, executor: Executor, scope: Scope) -> EvalValue | None:
        """The value of a tensor that no step has computed; None where it has none here."""
        ...

    def name(self, key: K, scope: Scope) -> str:
        """The name of a tensor in the description of the graph."""
        ...


def as_results(results: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """What a kernel returned as a tuple, NumPy's scalars as arrays."""
    if not isinstance(results, tuple):
        return (np.asarray(results) if isinstance(results, np.generic) else results,)
    return tuple(np.asarray(each) if isinstance(each, np.generic) else each for each in results)
