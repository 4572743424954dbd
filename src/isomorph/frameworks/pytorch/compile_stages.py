"""torch.compile stage by stage, or without single operators, to find what changes a result.

A compiled module goes through Dynamo (captures Python), AOTAutograd (removes in-place changes and
views), decompositions (operators as simpler ones) and Inductor (kernels of its own). torch offers a
backend that ends behind each of them and runs the rest by its usual kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from isomorph.core.execution import Switch
from isomorph.frameworks.pytorch.program import operator_name
from isomorph.frameworks.pytorch.silence_logs import quietly

if TYPE_CHECKING:
    from isomorph.frameworks.pytorch.program import Program

BACKENDS = {
    "dynamo": "eager",
    "aot": "aot_eager",
    "decompositions": "aot_eager_decomp_partition",
    "yes": "inductor",
}
"""The backend of torch that ends behind each stage, by what the setting ``compile`` calls it."""


def compiled(module: Any, stage: str, uncompiled: Sequence[str]) -> Any:  # noqa: ANN401
    """The module, compiled up to a stage on its first call.

    Inductor leaves the ``uncompiled`` operators as they are, and calls torch's own kernels for
    them.
    """
    with quietly():
        # Dynamo gives up on code that was compiled often, without a word, and runs it as it is.
        torch.compiler.reset()
        if uncompiled and stage == "yes":
            return torch.compile(module, backend=_inductor_without(uncompiled))
        return torch.compile(module, backend=BACKENDS[stage])


def compiled_operators(program: Program) -> tuple[str, ...]:
    """The operators of a program for which Inductor has a kernel or a decomposition."""
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.lowering import lowerings

    targets = {step.target for step in program.steps}
    known = [each for each in targets if each in lowerings or each in select_decomp_table()]
    return tuple(sorted(operator_name(target) for target in known))


def operator_switches(names: Sequence[str]) -> tuple[Switch, ...]:
    """One switch for each operator, which leaves it to torch's own kernel."""
    return tuple(
        Switch(
            name=f"the compiled form of {name} in torch.compile",
            settings={"uncompiled_operators": name},
        )
        for name in names
    )


def _inductor_without(names: Sequence[str]) -> Callable[..., Any]:
    """The backend Inductor, with these operators left to torch's own kernels."""

    def compile_graph(graph: Any, inputs: Any) -> Any:  # noqa: ANN401
        from torch._inductor.compile_fx import compile_fx
        from torch._inductor.decomposition import select_decomp_table

        operators = [_overload(name) for name in names]
        kept = {each: way for each, way in select_decomp_table().items() if each not in operators}
        with _torch_kernels(operators):
            # A stored result would be that of all operators.
            return compile_fx(
                graph, inputs, decompositions=kept, config_patches={"force_disable_caches": True}
            )

    return compile_graph


@contextmanager
def _torch_kernels(operators: Sequence[Any]) -> Iterator[None]:
    """Inductor's table of operators, with calls of torch's kernels in these places."""
    from torch._inductor.lowering import fallback_handler, lowerings

    before = {each: lowerings.get(each) for each in operators}
    try:
        for each in operators:
            lowerings[each] = fallback_handler(each, add_to_fallback_set=False)
        yield
    finally:
        for each, way in before.items():
            if way is None:
                del lowerings[each]
            else:
                lowerings[each] = way


def _overload(name: str) -> Any:  # noqa: ANN401
    """The operator of this name, such as ``aten.expm1.default``."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found
