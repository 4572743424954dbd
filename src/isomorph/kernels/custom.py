"""A user's NumPy function as the meaning of a custom operator."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ORIGINS: dict[str, None] = {}


def op(domain: str, name: str, *, since: int = 1) -> Callable[[_Function], _Function]:
    """Register a NumPy function as the meaning of a custom operator, from opset ``since`` on.

    It takes the node's inputs by position (None for an absent one) and its attributes by name,
    and returns one array or a tuple of them. Inputs come in float64, so it should compute in
    whatever type it is given. Every oracle uses it then; the domain of TFLite is ``tflite``.
    """
    if not name or not isinstance(name, str) or not isinstance(domain, str):
        raise UsageError("BAD_OPTION", "an operator needs a domain and a name, both text")

    def register(function: _Function) -> _Function:
        def meaning(call: Call, *inputs: Any) -> Any:  # noqa: ANN401
            try:
                made = function(*inputs, **call.attributes)
            except Exception as error:  # the user's own code may raise anything
                raise UsageError(
                    "OP_FAILED",
                    f"the function for {domain}::{name} raised {type(error).__name__}",
                    why=str(error),
                    fix="it takes the node's inputs by position and its attributes by name",
                ) from error
            parts = made if isinstance(made, tuple) else (made,)
            # What it does inside is unknown: each result counts as rounded once.
            return tuple(call.noise.rounded(np.asarray(part)) for part in parts)

        kernel(name, domain=domain, since=since, instead=True)(meaning)
        _ORIGINS[_origin(function)] = None
        return function

    return register


def origins() -> tuple[str, ...]:
    """Where the functions registered so far can be found again, for another process."""
    return tuple(name for name in _ORIGINS if name)


def import_ops(words: Sequence[str]) -> None:
    """Import what registers operators: modules by name, or Python files by path."""
    for word in words:
        try:
            if word.endswith(".py"):
                _import_file(Path(word))
            else:
                import_module(word)
        except Exception as error:
            raise UsageError(
                "NO_SUCH_OPS",
                f"the operators of {word} cannot be imported",
                why=f"{type(error).__name__}: {error}",
                fix="give package.module, or the path of a .py file, that uses isomorph.op",
            ) from error


def _origin(function: Callable[..., Any]) -> str:
    """The file that a function stands in; nothing for one that was typed into a console."""
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    return str(Path(file).resolve()) if file else ""


def _import_file(path: Path) -> None:
    """Once for each file, under a name of its own: what stands under ``__main__`` does not run."""
    name = "isomorph_ops_" + hashlib.blake2b(str(path.resolve()).encode()).hexdigest()[:12]
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
