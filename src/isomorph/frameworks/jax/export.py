"""Exporting a live function with example arrays, in the process of the caller."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

from isomorph.core.errors import IsomorphError, UnreadableModelError, UsageError
from isomorph.frameworks.jax.live_objects import kind_of
from isomorph.frameworks.jax.platform_branches import CPU, CUDA, cuda_devices
from isomorph.store.input_files import read_arrays


def exported_bytes(source: Any, example: Mapping[str, Any]) -> bytes:  # noqa: ANN401
    """A live object as ``Exported.serialize`` writes it."""
    return bytes(live_export(source, example).serialize())


def example_in(options: Mapping[str, str]) -> Mapping[str, Any]:
    """The arrays of the file that the options name."""
    return dict(read_arrays(Path(options["inputs"]))) if "inputs" in options else {}


def live_export(source: Any, example: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Export a live object for this machine; its sizes are those of the example."""
    kind = kind_of(source)
    if kind == "exported":
        return source
    function: Callable[..., Any] = _inference(source) if kind == "keras" else source
    arguments = _arguments(source, kind, example)
    try:
        return _exported(_jitted(function), arguments)
    except IsomorphError:
        raise
    except Exception as error:  # tracing runs the user's code, and JAX's own checks
        message = " ".join(str(error).split())
        raise UnreadableModelError(
            "NOT_EXPORTABLE", f"jax.export cannot follow {_called(source)}",
            why=f"{type(error).__name__}: {message[:300]}",
            fix="replace Python decisions on values by lax.cond or jnp.where, and give one array "
            "for each argument",
        ) from error  # fmt: skip


def _exported(function: Any, arguments: Sequence[Any]) -> Any:  # noqa: ANN401
    """For the CPU, and for CUDA where this process has it and the function can run there."""
    if cuda_devices():
        with suppress(Exception):  # what the CPU alone can run is exported for it below
            return export.export(function, platforms=(CPU, CUDA))(*arguments)
    return export.export(function, platforms=(CPU,))(*arguments)


def _inference(model: Any) -> Callable[..., Any]:  # noqa: ANN401
    """A Keras model as a function of its inputs, which is not training."""

    def infer(*inputs: Any) -> Any:  # noqa: ANN401
        return model(inputs[0] if len(inputs) == 1 else list(inputs), training=False)

    names = [re.sub(r"\W", "_", name) for name in _names(model, "keras")]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    vars(infer)["__signature__"] = inspect.Signature(
        [inspect.Parameter(name, kind) for name in names]
    )
    return infer


def _jitted(function: Any) -> Any:  # noqa: ANN401
    if hasattr(function, "lower") and hasattr(function, "trace"):
        return function
    # A module is no function, though it can be called like one.
    if not inspect.isroutine(function):
        call = function

        def function(*inputs: Any) -> Any:  # noqa: ANN401
            return call(*inputs)

        signature = _signature(call)
        if signature is not None:
            vars(function)["__signature__"] = signature
    return jax.jit(function)


def _signature(function: Any) -> inspect.Signature | None:  # noqa: ANN401
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _arguments(
    source: Any,  # noqa: ANN401
    kind: str | None,
    example: Mapping[str, Any],
) -> list[Any]:
    """The types and sizes of the arguments, by the example or, of a Keras model, by its inputs."""
    if kind == "keras" and not example:
        return _declared(source)
    if not example:
        raise UsageError(
            "EXAMPLE_NEEDED", "a function of JAX is traced, and there is no input to trace it with",
            fix="isomorph.check(function, …, inputs={'x': array})",
        )  # fmt: skip
    places = {name: int(name) for name in example if name.isdigit()}
    ordered = sorted(places, key=places.__getitem__)
    if len(places) < len(example):
        named = _names(source, kind)
        unknown = [name for name in example if name not in named and name not in places]
        if unknown:
            raise UsageError(
                "UNKNOWN_INPUT", f"{_called(source)} has no argument {unknown[0]!r}",
                why=f"its arguments are: {', '.join(named) or 'none'}",
            )  # fmt: skip
        ordered += [name for name in named if name in example]
    return [_spec(np.asarray(example[name])) for name in ordered]


def _spec(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401
    # JAX computes in 64 bits only where the caller has asked for it.
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _declared(model: Any) -> list[Any]:  # noqa: ANN401
    scope, specs = export.SymbolicScope(), []
    for each in jax.tree.leaves(model.inputs):
        words = [
            f"axis{place}" if size is None else str(size) for place, size in enumerate(each.shape)
        ]
        shape = export.symbolic_shape(", ".join(words), scope=scope)
        specs.append(jax.ShapeDtypeStruct(shape, np.dtype(str(each.dtype))))
    return specs


def _names(source: Any, kind: str | None) -> Sequence[str]:  # noqa: ANN401
    """The arguments by position."""
    if kind == "keras":
        return [str(each.name) for each in jax.tree.leaves(source.inputs)]
    signature = _signature(source)
    if signature is None:
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in signature.parameters.values() if each.kind in kinds]


def _called(source: Any) -> str:  # noqa: ANN401
    return str(getattr(source, "__name__", None) or type(source).__name__)
