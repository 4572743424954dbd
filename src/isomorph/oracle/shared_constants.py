"""What evaluations side by side make of the same constants, computed once for all of them.

Draws with equal noise move a stored constant alike, whatever they are fed: steps of decoding are
drawn with the same seeds. Most noise leaves what nodes make of constants as it is, and all draws
with such noise have it in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.value import EvalValue

Inputs = Sequence["EvalValue"]

Unchanged = dict[int, tuple[Inputs, list["EvalValue"]]]
"""Constants that a step read last, and what it made of them."""


@dataclass(slots=True)
class MadeWeights:
    """What kernels made of weights, with the constants that it was made of."""

    _found: dict[tuple[Any, ...], tuple[Inputs, Any]] = field(default_factory=dict)

    def of(self, site: tuple[Any, ...], inputs: Inputs, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """What ``make`` returns, called once for a node and the same values in its inputs."""
        key = site, *map(id, inputs)
        if key not in self._found:
            # The inputs are kept with it, so that no other value takes the identity of one.
            self._found[key] = tuple(inputs), make()
        return self._found[key][1]

    def clear(self) -> None:
        """Release everything."""
        self._found.clear()


@dataclass(frozen=True, slots=True)
class SharedConstants:
    """What the draws of one noise have in common while a node is computed.

    ``stored``: constants as the noise moves them. ``moved``: what a node makes of constants, as the
    noise moves it. ``unchanged`` (of nodes that round nothing) and ``weights`` are those of all
    draws where the noise leaves what nodes make of constants as it is (``keeps_constants``).
    """

    stored: dict[Any, EvalValue] = field(default_factory=dict)
    moved: Unchanged = field(default_factory=dict)
    unchanged: Unchanged = field(default_factory=dict)
    weights: MadeWeights = field(default_factory=MadeWeights)

    def clear(self) -> None:
        """Release everything."""
        self.release_moved()
        self.unchanged.clear()
        self.weights.clear()

    def release_moved(self) -> None:
        """Release what the noise of these draws moves."""
        self.stored.clear()
        self.moved.clear()


@dataclass(frozen=True, slots=True)
class SharedByNoise:
    """The places of the draws of each noise, and what they share."""

    common: SharedConstants
    groups: Sequence[tuple[SharedConstants, Sequence[int]]]

    @classmethod
    def of(cls, noises: Sequence[Noise | None]) -> SharedByNoise:
        """Those of draws with these noises."""
        places: dict[Noise | None, list[int]] = {}
        for place, noise in enumerate(noises):
            places.setdefault(noise, []).append(place)
        common = SharedConstants()
        shared = (
            SharedConstants(unchanged=common.unchanged, weights=common.weights)
            if keeps_constants(noise)
            else SharedConstants()
            for noise in places
        )
        return cls(common, list(zip(shared, places.values(), strict=True)))

    def each(self) -> Iterator[tuple[int, SharedConstants]]:
        """Every draw with what it shares; what one noise moves is released before the next."""
        for shared, places in self.groups:
            for place in places:
                yield place, shared
            if shared.unchanged is self.common.unchanged:
                shared.release_moved()
            else:
                shared.clear()

    def clear(self) -> None:
        """Release what all draws have in common."""
        self.common.clear()


def keeps_constants(noise: Noise | None) -> bool:
    """Whether what nodes make of constants without rounding is the same in every such draw."""
    return noise is None or not (noise.quantizers or noise.attributes or noise.run_dtype)
