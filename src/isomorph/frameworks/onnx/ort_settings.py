"""The settings of ONNX Runtime, from words to session options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable
from isomorph.core.settings import chosen, thread_count, unknown
from isomorph.core.untrusted_json import read_json

DEFAULTS: Mapping[str, str] = {
    "providers": "CPUExecutionProvider",
    "optimization": "all",
    "disable_optimizers": "",
    "threads": "",
    "deterministic": "no",
    "custom_ops": "",
    "name_optimizers": "no",
    "log_about": "",
    "qdq_accuracy_level": "",
}

_SPINNING = "session.intra_op.allow_spinning"
_ACCURACY = "session.qdq_matmulnbits_accuracy_level"
"""Of products that the optimizer fuses with weights which DequantizeLinear reads in blocks."""

LEVELS = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was asked for, complete and checked."""

    words: Mapping[str, str]
    providers: tuple[str, ...]
    level: str
    disabled: tuple[str, ...]
    threads: int | None
    deterministic: bool
    custom_ops: str
    about: tuple[str, ...] = ()
    """The nodes, tensors and optimizers whose lines of the log are wanted."""
    talkative: bool = False
    """Whether it logs what it does; only to a file that is read."""

    @property
    def entries(self) -> Mapping[str, str]:
        """The entries of a session's configuration."""
        level = self.words["qdq_accuracy_level"]
        return {_ACCURACY: level} if level else {}


def as_code(words: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of Python that set these options."""
    lines = []
    if "optimization" in words:
        level = LEVELS[words["optimization"]]
        lines.append(
            f"options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.{level}"
        )
    if words.get("threads"):
        lines.append(f"options.intra_op_num_threads = {words['threads']}")
    if lines:
        lines.insert(0, "options = onnxruntime.SessionOptions()")
    more = ", sess_options=options" if lines else ""
    if words.get("disable_optimizers"):
        more += f", disabled_optimizers={list(_listed(words['disable_optimizers']))!r}"
    if words.get("providers"):
        more += f", providers={list(_listed(words['providers']))!r}"
    return (*lines, f"session = onnxruntime.InferenceSession(path{more})")


def settings_of(words: Mapping[str, str], threads: int | None, ort: Any) -> Settings:  # noqa: ANN401
    """Check every word; one that is not understood is never ignored."""
    for key in words:
        if key not in DEFAULTS:
            raise unknown("onnxruntime", "setting", key, tuple(DEFAULTS))
    whole = {**DEFAULTS, **words}
    if whole["optimization"] not in LEVELS:
        raise unknown("onnxruntime", "optimization level", whole["optimization"], tuple(LEVELS))
    for flag in ("deterministic", "name_optimizers"):
        chosen("onnxruntime", whole, flag, ("yes", "no"))
    if whole["qdq_accuracy_level"]:
        chosen("onnxruntime", whole, "qdq_accuracy_level", ("0", "1", "2", "3", "4"))
    if whole["custom_ops"] and not Path(whole["custom_ops"]).is_file():
        raise UsageError("BAD_SETTING", "there is no custom-op library", file=whole["custom_ops"])
    return Settings(
        words=whole,
        providers=tuple(_provider(word, ort) for word in _listed(whole["providers"])),
        level=LEVELS[whole["optimization"]],
        disabled=_listed(whole["disable_optimizers"]),
        threads=thread_count(whole["threads"]) or threads,
        deterministic=whole["deterministic"] == "yes",
        custom_ops=whole["custom_ops"],
        about=_names(whole["log_about"]),
    )


def session_options(ort: Any, settings: Settings) -> Any:  # noqa: ANN401
    """Fresh options; each session has its own, because they can carry weights."""
    options = ort.SessionOptions()
    # Fatal only: what goes wrong is raised as well, and the terminal belongs to reporters.
    options.log_severity_level = 0 if settings.talkative else 4
    level = getattr(ort.GraphOptimizationLevel, settings.level, None)
    if level is None:
        raise UsageError(
            "BAD_SETTING",
            f"onnxruntime {ort.__version__} has no optimization level "
            f"{settings.words['optimization']!r}",
            fix="upgrade onnxruntime or choose extended or all",
        )
    options.graph_optimization_level = level
    options.use_deterministic_compute = settings.deterministic
    # Threads that spin while they wait for the next run take the time of what computes meanwhile.
    options.add_session_config_entry(_SPINNING, "0")
    for key, value in settings.entries.items():
        options.add_session_config_entry(key, value)
    if settings.threads is not None:
        options.intra_op_num_threads = settings.threads
        options.inter_op_num_threads = 1
    if settings.custom_ops:
        options.register_custom_ops_library(os.fspath(settings.custom_ops))
    return options


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _names(text: str) -> tuple[str, ...]:
    """A JSON list, since names in a model may hold any character; or words between commas."""
    if not text.lstrip().startswith("["):
        return _listed(text)
    try:
        names = read_json(text)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            "BAD_SETTING",
            "log_about must be names between commas, or a JSON list of strings",
            why=f"got {printable(text, limit=80)!r}",
        )
    return tuple(names)


def _provider(word: str, ort: Any) -> str:  # noqa: ANN401
    known: Sequence[str] = ort.get_all_providers()
    short = {name.removesuffix("ExecutionProvider").lower(): name for name in known}
    found = word if word in known else short.get(word.lower())
    if found is None:
        raise unknown("onnxruntime", "execution provider", word, tuple(known))
    return found
