"""Which live objects are functions of JAX; nothing heavy is imported to find out."""

from __future__ import annotations

import sys
import types
from functools import partial
from typing import Any


def is_live(source: Any) -> bool:  # noqa: ANN401
    """Whether an object can be exported by JAX, if JAX is loaded already."""
    return "jax" in sys.modules and kind_of(source) is not None


def kind_of(source: Any) -> str | None:  # noqa: ANN401
    """``exported``, ``keras``, ``module`` or ``function``; None for anything else."""
    if _is_a(source, "jax.export", "Exported"):
        return "exported"
    if _is_a(source, "keras", "Model"):
        backend = sys.modules["keras"].backend.backend()
        return "keras" if backend == "jax" else None
    modules = (("flax.nnx", "Module"), ("equinox", "Module"))
    if any(_is_a(source, package, name) for package, name in modules):
        return "module" if callable(source) else None
    if _is_a(source, "flax.linen", "Module"):
        # Only a module that is bound to its variables can be called.
        return "module" if source.scope is not None and callable(source) else None
    if isinstance(source, partial):
        return "function" if kind_of(source.func) is not None else None
    if isinstance(source, (types.FunctionType, types.MethodType)):
        return "function"
    return "function" if _is_a(source, "jax.stages", "Wrapped") else None


def _is_a(source: Any, package: str, name: str) -> bool:  # noqa: ANN401
    kind = getattr(sys.modules.get(package), name, None)
    return kind is not None and isinstance(source, kind)
