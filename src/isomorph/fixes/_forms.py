"""Operators that a converter spells out in an approximate form, brought to the exact one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.patch import AddConstant, InsertAhead, Patch, SetOp
from isomorph.stages.diagnose.parameters import dtype_of, fresh

if TYPE_CHECKING:
    from isomorph.core.case import Case


def exact_gelu(case: Case) -> Iterator[Patch]:
    """The error function of x/√2 in the place of the hyperbolic tangent of a cubic in x.

    What computed the cubic is left behind and no longer read by this node.
    """
    made = {name for node in case.nodes for name in node.outputs}
    sources = [
        name
        for node in case.nodes
        for name in node.inputs
        if name and name not in made and name not in case.candidate.constants
    ]
    for node in case.nodes:
        if node.op != "Tanh" or len(case.nodes) < 2:
            continue
        for source in dict.fromkeys(sources):
            kind = dtype_of(case, source) or np.dtype(np.float32)
            constant = fresh(case, f"{node.outputs[0]}_inverse_root_2")
            yield Patch(
                summary=f"Tanh {node.name!r} replaced by Erf of {source!r} / √2: the exact GELU",
                edits=(
                    AddConstant(name=constant, value=np.asarray(np.sqrt(0.5), kind)),
                    InsertAhead(
                        node=node.name,
                        index=0,
                        op="Mul",
                        name=fresh(case, f"{node.name}_scaled"),
                        inputs=(source, constant),
                    ),
                    SetOp(node=node.name, op="Erf"),
                ),
            )
