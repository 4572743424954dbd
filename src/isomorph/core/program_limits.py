"""Limits of what is read of a program. See ``core.limits``."""

from __future__ import annotations

MOST_STABLEHLO_OPERATIONS = 1 << 20
"""Operations of a StableHLO module with its calls written out. Beyond: the module is refused, as
calls within calls can multiply without end."""

MOST_STABLEHLO_LEVELS = 200
"""Calls within calls, or regions within regions, of a StableHLO module. Beyond: it is refused."""
