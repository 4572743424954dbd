"""ONNX Runtime in a script that needs no isomorph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.extraction import ScriptSource

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.ort_settings import Settings


def script_source(settings: Settings) -> ScriptSource | None:
    """The session with these settings; a library of operators would have to come along."""
    if settings.custom_ops:
        return None
    lines = [
        "options = onnxruntime.SessionOptions()",
        "level = onnxruntime.GraphOptimizationLevel",
        f"options.graph_optimization_level = level.{settings.level}",
    ]
    if settings.threads is not None:
        lines.append(f"options.intra_op_num_threads = {settings.threads}")
    if settings.deterministic:
        lines.append("options.use_deterministic_compute = True")
    for key, value in settings.entries.items():
        lines.append(f"options.add_session_config_entry({key!r}, {value!r})")
    more = f", disabled_optimizers={list(settings.disabled)!r}" if settings.disabled else ""
    lines += [
        f"providers = {list(settings.providers)!r}",
        f"session = onnxruntime.InferenceSession(str(path), options, providers=providers{more})",
        "return session.run([output], feeds)[0]",
    ]
    return ScriptSource(
        imports=("import onnxruntime",),
        packages=("onnxruntime",),
        body=tuple(lines),
        variables={},
        names_output=True,
    )
