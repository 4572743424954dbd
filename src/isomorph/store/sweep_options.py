"""The options of a sweep file: which tables may have them, and which commands take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Verb
from isomorph.store import projects
from isomorph.store.projects import PATHS
from isomorph.store.value_kinds import ValueKind, flag, list_of, text, whole

OF_CONVERSION: Mapping[str, ValueKind] = {
    "to": text("a format, as in onnx"),
    "quantize": text("a width, as in float16"),
    "precision": text("a type, as in float16"),
    "via": list_of(text("a word"), "a list of formats and converters"),
    "opset": whole("an operator set"),
    "repair": flag(),
}
"""Those of a cell that converts."""

OPTIONS: Mapping[str, ValueKind] = {**projects.OPTIONS, **OF_CONVERSION}
"""All, with what their values have to be."""
OF_MODEL = tuple(each for each in OPTIONS if each not in ("environments", "seed"))
OF_ENVIRONMENT = tuple(
    each for each in OPTIONS if each not in PATHS and each not in ("environments", "seed")
)
OF_SHARD = ("data", "inputs")

_LOADING = frozenset({"inputs", "dims", "trust", "state", "memory", "timeout", "budget"})
_OF_PAIR = frozenset(
    {"runtime", "settings", "layouts", "bind_inputs", "bind_outputs", "translation_only"}
)
_TAKEN: Mapping[Verb, frozenset[str]] = {
    Verb.CHECK: frozenset(projects.OPTIONS),
    Verb.PROVE: frozenset(projects.OPTIONS),
    Verb.FIX: _LOADING | _OF_PAIR,
    Verb.CONVERT: _LOADING | {"data", "translation_only", *OF_CONVERSION},
}


def require_taken(options: Mapping[str, Any], verb: Verb, *, file: str, where: str) -> None:
    """Raise where the command of a cell does not take one of its options, or lacks one."""
    for name in options:
        if name not in _TAKEN[verb]:
            raise UsageError(
                "CONFIG_INVALID", f"{verb} takes no option {name!r}", file=file, where=where,
                why=f"it takes: {', '.join(sorted(_TAKEN[verb]))}",
            )  # fmt: skip
    if verb is Verb.CONVERT and "to" not in options:
        raise UsageError(
            "CONFIG_INVALID", "a conversion has no target", file=file, where=where,
            fix='state a format in the table of the model or of the environment: to = "onnx"',
        )  # fmt: skip
