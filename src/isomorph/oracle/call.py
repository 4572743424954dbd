"""What a kernel knows of the node that it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isomorph.oracle.noise import NO_NOISE, Array, NoiseSource

Kernel = Callable[..., Any]
"""Takes a ``Call`` and the inputs by position; returns one array or a tuple of them."""


def _made(make: Callable[[], Any]) -> Any:  # noqa: ANN401
    return make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a kernel knows of the node it computes, besides its inputs.

    ``attributes`` are complete: defaults of the node's opset included. ``outputs`` is how many
    outputs the node declares. ``dtype`` is the declared float type of the node, lifted or not.
    ``constant``: every input is a constant. ``input_dtypes`` are the declared types of
    the inputs: a constant zero point of type float8 may arrive lifted, and still names the type
    its quantizer rounds to. ``site`` differs from that of every other node, for those that draw
    random numbers of their own. ``table``: the stored integers that those of the first input were
    looked up in. ``shared`` returns what a function makes of weights alone, made once for all draws
    side by side that make the same of it.
    """

    op: str
    domain: str = ""
    version: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    dtype: str | None = None
    noise: NoiseSource = NO_NOISE
    constant: bool = False
    input_dtypes: tuple[str | None, ...] = ()
    site: tuple[Any, ...] = ()
    table: Array | None = None
    shared: Callable[[Callable[[], Any]], Any] = _made

    def with_noise(self, noise: NoiseSource) -> Call:
        """The same with this noise; every node of every draw needs it, and ``replace`` is slow."""
        return Call(
            op=self.op,
            domain=self.domain,
            version=self.version,
            attributes=self.attributes,
            outputs=self.outputs,
            dtype=self.dtype,
            noise=noise,
            constant=self.constant,
            input_dtypes=self.input_dtypes,
            site=self.site,
            table=self.table,
            shared=self.shared,
        )

    def of_weights(self, make: Callable[[], Array]) -> Array:
        """What a kernel makes of its weights alone, before it draws anything else.

        Disturbed quantizers draw for them. Where another draw has made it, the random numbers go on
        from where they would.
        """
        if not self.noise.quantizers:
            return np.asarray(self.shared(make))
        bits = self.noise.random.bit_generator
        made, bits.state = self.shared(lambda: (make(), bits.state))
        return np.asarray(made)
