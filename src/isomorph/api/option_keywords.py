"""Options as plain keywords: any of them can be stated in the call itself.

An object of options serves several calls. For one call ``check(a, b, runtime="openvino")`` is
shorter; a keyword takes precedence over the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from isomorph.api.options import ConvertOptions, Limits, PairOptions, RuntimeOptions

if TYPE_CHECKING:
    from pathlib import Path

Options = TypeVar("Options", bound=PairOptions | RuntimeOptions | ConvertOptions)


class RuntimeKeywords(TypedDict, total=False):
    """The fields of ``RuntimeOptions`` and ``Limits``.

    ``runtime`` is the name of the runtime, or the object itself where a pair is compared.
    """

    runtime: str | Mapping[str, str] | RuntimeOptions | None
    settings: Mapping[str, str] | None
    state: str | Path | None
    ops: Sequence[str]
    memory: int | None
    timeout: float | None


class PairKeywords(RuntimeKeywords, total=False):
    """The fields of ``PairOptions``."""

    bind_inputs: Mapping[str, str] | None
    bind_outputs: Mapping[str, str] | None
    layouts: Mapping[str, Sequence[int]] | None
    translation_only: bool


class CheckKeywords(PairKeywords, total=False):
    """The fields of ``CheckOptions``."""

    sizes: Mapping[str, Sequence[int]] | None
    metric: str | Callable[..., float] | None
    strict: bool
    only_given: bool
    quick: bool
    prove: bool
    locate: bool
    align: bool | None
    quantization: bool | None
    profile: bool | None
    baseline: str | Path | None
    pair: str | None
    decode: int | None
    caches: Mapping[str, str] | None


class ConvertKeywords(TypedDict, total=False):
    """The fields of ``ConvertOptions`` and ``Limits``."""

    opset: int | None
    sizes: Mapping[str, Sequence[int]] | None
    ranges: Mapping[str, Sequence[float]] | None
    translation_only: bool
    state: str | Path | None
    memory: int | None
    timeout: float | None


_LIMITS = frozenset(each.name for each in fields(Limits))
_RUNTIME = frozenset({"runtime", "settings", "state", "ops"}) | _LIMITS
_MAPPINGS = frozenset({"bind_inputs", "bind_outputs", "layouts", "settings", "caches"})
"""None states none of these; what the object has remains."""


def _is_whole(keywords: Mapping[str, Any]) -> bool:
    return isinstance(keywords.get("runtime"), RuntimeOptions)


def with_keywords(options: Options, keywords: Mapping[str, Any]) -> Options:
    """The options with what the keywords of a call state."""
    stated = {
        name: value
        for name, value in keywords.items()
        if value is not None or name not in _MAPPINGS
    }
    if isinstance(options, PairOptions):
        runtime = {name: stated.pop(name) for name in _RUNTIME & stated.keys()}
        whole = runtime.pop("runtime", None) if _is_whole(runtime) else options.runtime
        if runtime or whole is not options.runtime:
            stated["runtime"] = with_keywords(whole, runtime)
    else:
        limits = {name: stated.pop(name) for name in _LIMITS & stated.keys()}
        if limits:
            stated["limits"] = replace(options.limits, **limits)
        if isinstance(options, RuntimeOptions) and "runtime" in stated:
            stated["name"] = stated.pop("runtime")
    known = {each.name for each in fields(options)}
    for name in stated:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")
    return replace(options, **stated)
