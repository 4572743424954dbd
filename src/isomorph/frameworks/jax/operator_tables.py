"""StableHLO's operations as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

from isomorph.core.operator_tables import OperatorTables
from isomorph.frameworks.jax.op_facts import COMPOSITES, CUSTOM_CALLS


def _custom(native: str) -> str | None:
    known = native in COMPOSITES or native in CUSTOM_CALLS
    return None if known or native.islower() else "a call by name, of one platform's library"


TABLES = OperatorTables(
    own_options=True,
    option_names={
        "strides": ("window_strides",),
        "dilations": ("rhs_dilation",),
        "pads": ("padding",),
        "group": ("feature_group_count",),
        "kernel_shape": ("window_dimensions",),
        "perm": ("permutation",),
        "axis": ("dimension",),
        "axes": ("dimensions",),
    },
    custom=_custom,
)
