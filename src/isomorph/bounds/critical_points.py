"""Where functions of one argument turn or bend: between these points each of them is monotone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    """The point between two numbers where a slope changes its sign, to the last bit."""
    rises = slope(high) > 0.0
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (low, middle) if (slope(middle) > 0.0) is rises else (middle, high)
    return middle


def _gelu(x: float) -> float:
    density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))) + x * density


def _gelu_by_tanh(x: float) -> float:
    factor, cubic = math.sqrt(2.0 / math.pi), 0.044715
    inner = math.tanh(factor * (x + cubic * x**3))
    return 0.5 * (1.0 + inner) + 0.5 * x * (1.0 - inner**2) * factor * (1.0 + 3.0 * cubic * x**2)


def _silu(x: float) -> float:
    share = 1.0 / (1.0 + math.exp(-x))
    return share * (1.0 + x * (1.0 - share))


def _mish(x: float) -> float:
    inner = math.tanh(math.log1p(math.exp(x)))
    return inner + x * (1.0 - inner**2) / (1.0 + math.exp(-x))


_ZERO = (0.0,)
CRITICAL: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("Abs", "Square", "Cosh", "LeakyRelu", "PRelu", "Elu", "Celu", "Selu"), _ZERO),
    "Gelu": (_root(_gelu, -1.5, -0.2), _root(_gelu_by_tanh, -1.5, -0.2)),
    "Silu": (_root(_silu, -2.0, -0.5),),
    "Mish": (_root(_mish, -2.0, -0.5),),
    "HardSwish": (-3.0, -1.5, 3.0),
}
"""By operator. Those of linear units with a slope bend at zero and may fall on one side."""
