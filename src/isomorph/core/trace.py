"""Where and how a model ran, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from isomorph.core.presentation import short

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Value = np.ndarray[Any, Any] | Sequence[Any] | Mapping[Any, Any] | None
    """A tensor; a list of values for a sequence; a map; or None for an absent optional."""

    Arrays = Mapping[str, Value]
    Use = Callable[[str, Any], None]
    """Takes a tensor by its name as soon as it is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """All that a run depends on besides model and inputs. Equal ones give equal traces.

    ``settings`` are the words of ``--set``, completed with the defaults; ``facts`` are what the
    runtime answered (the providers really in use, the optimizers that ran, the CPU's kernels).
    """

    runtime: str
    version: str = ""
    device: str = "cpu"
    precision: str = "as declared"
    threads: int | None = None
    isolation: str = "process"
    settings: Mapping[str, str] = field(default_factory=dict)
    """The words of --set, completed with the defaults."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the runtime answered about itself."""
    interpreter: str = ""
    """The Python executable of another environment that it ran in; empty for isomorph's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run of a session: what is fed, what is fetched, and what is disturbed."""

    feeds: Arrays
    fetch: Sequence[str]
    noise: Noise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What an oracle is to disturb in one run; two equal ones disturb equally.

    ``rounding``: every operation by the rounding of its declared type (Monte-Carlo arithmetic).
    ``constants``: these constants by one rounding of their own type; ``attributes``: every
    inexact number in a node's attributes by one rounding of the type the file stores it in.
    ``quantizers``: every quantizer becomes the identity plus the rounding of an ideal min/max
    quantizer of the same width and granularity: the loss that the width itself intends.
    ``scale`` multiplies the rounding of operations: what even a wider disturbance leaves alone,
    rounding does not reach. ``run_dtype``: a float type that a run computes in instead of wider
    declared ones; inputs, constants and results round to it. ``tied``: equal results of one
    elementwise operation are disturbed alike, as its rounding is a function of the result.
    ``run_time``: the quantizers that a kernel applies to its operands where no graph shows it;
    disturbed ``quantizers`` are those, too.
    """

    seed: int
    rounding: bool = False
    constants: tuple[str, ...] = ()
    attributes: bool = False
    quantizers: bool = False
    scale: float = 1.0
    run_dtype: str = ""
    tied: bool = False
    run_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a session can do; localization reports what it could not do."""

    fetch: Literal["all", "outputs"] = "all"
    feed: Literal["all", "inputs"] = "all"
    noise: bool = False
    gradients: bool = False
    """Whether it differentiates its outputs by its inputs (``Differentiates``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Tensors of one run, by name, flattened: ``y[0]`` is the first element of sequence ``y``."""

    environment: Environment
    tensors: Arrays

    def __repr__(self) -> str:
        """How many tensors, of which run; not their values."""
        first = ", ".join(list(self.tensors)[:3])
        more = ", …" if len(self.tensors) > 3 else ""
        run = f"{self.environment.runtime} {self.environment.version}".strip()
        return short("Trace", f"{run}: {len(self.tensors)} tensors: {first}{more}")


def flatten(name: str, value: Value) -> dict[str, Any]:
    """A sequence as its elements under stable paths; a tensor or None as itself.

    A map is two arrays, its sorted keys and their values: ``y.keys`` and ``y.values``.
    """
    if isinstance(value, Mapping):
        keys = sorted(value)
        return {f"{name}.keys": _array(keys), f"{name}.values": _array([value[k] for k in keys])}
    if isinstance(value, (list, tuple)):
        flat: dict[str, Any] = {}
        for index, item in enumerate(value):
            flat.update(flatten(f"{name}[{index}]", item))
        return flat
    return {name: value}


def _array(items: list[Any]) -> Array:
    import numpy as np

    text = any(isinstance(item, str) for item in items)
    return np.array(items, dtype=object) if text else np.asarray(items)
