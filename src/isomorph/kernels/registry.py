"""Which kernel computes which operator of ONNX and its known extension domains.

Kernels take their inputs by position (None for an absent optional one) and return one array
or a tuple. They keep the float type they are given: float64 when the oracle lifts, the
declared type when it evaluates a sub-graph of constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from isomorph.oracle.call import Call, Kernel

_TABLE: dict[tuple[str, str], list[tuple[int, Kernel]]] = {}


def kernel(
    *ops: str, domain: str = "", since: int = 1, instead: bool = False
) -> Callable[[Kernel], Kernel]:
    """Register a function ``f(call, *inputs)`` for these operators from opset ``since`` on.

    ``instead``: in the place of one that was registered for the same opset before.
    """

    def register(function: Kernel) -> Kernel:
        for op in ops:
            versions = _TABLE.setdefault((domain, op), [])
            if instead:
                versions[:] = [entry for entry in versions if entry[0] != since]
            versions.append((since, function))
            versions.sort(key=lambda entry: entry[0], reverse=True)
        return function

    return register


def find(domain: str, op: str, version: int) -> Kernel | None:
    """The kernel for an operator at an opset version, or None where we have none."""
    if domain == "ai.onnx":
        domain = ""
    for since, function in _TABLE.get((domain, op), ()):
        if since <= version:
            return function
    return None


def standard(
    call: Call,
    op: str,
    *inputs: Any,  # noqa: ANN401
    version: int,
    outputs: int = 1,
    **attributes: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """An operator of ONNX itself, as one step of ``call``'s node and with its noise.

    ``attributes`` must be complete, as the kernel of that ``version`` expects them.
    """
    function = find("", op, version)
    if function is None:
        raise LookupError(f"{call.op} is made of {op} {version}, which has no kernel")
    step = replace(
        call,
        op=op,
        domain="",
        version=version,
        attributes=attributes,
        outputs=outputs,
        input_dtypes=(),
    )
    return function(step, *inputs)


@cache
def load_all() -> None:
    """Import every module of kernels, so that each has entered its operators."""
    package = import_module("isomorph.kernels")
    found = walk_packages(package.__path__, f"{package.__name__}.")
    for module in sorted(each.name for each in found):
        import_module(module)


def known() -> frozenset[tuple[str, str]]:
    """Every (domain, operator) that has a kernel of ours."""
    return frozenset(_TABLE)
