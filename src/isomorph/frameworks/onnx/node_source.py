"""Where a node came from, as far as its exporter wrote it down."""

from __future__ import annotations

import ast
import re
from typing import Any

from isomorph.core.model import Source

_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)[^\n]*\n?\s*(?P<text>[^\n]*)')
_TORCH = "pkg.torch.onnx."
_PATHS = ("tf2onnx", "keras")


def source_of(node: Any, producer: str) -> Source | None:  # noqa: ANN401
    """Module path and source line, or None where the exporter left nothing."""
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    module = (
        _from_scopes(metadata.get(f"{_TORCH}name_scopes", ""))
        or _from_namespace(metadata.get("namespace", ""))
        or _from_name(node.name, producer)
    )
    frame = _last_frame(metadata.get(f"{_TORCH}stack_trace", ""))
    if module is None and frame is None:
        return None
    if frame is None:
        return Source(module=module)
    line = int(frame["line"])
    return Source(module=module, file=frame["file"], line=line, text=frame["text"].strip() or None)


def _from_scopes(text: str) -> str | None:
    # "['', 'blocks.1', 'blocks.1.n1', 'layer_norm_2']": the last is the call, not a module.
    try:
        scopes = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        return None
    return next((scope for scope in reversed(scopes[:-1]) if scope), None)


def _from_namespace(text: str) -> str | None:
    # Written as name and class of each module in turn, separated by slashes; the last is the call.
    names = [part.partition(":")[0].strip() for part in text.split("/")]
    return next((name for name in reversed(names[:-1]) if name), None)


def _from_name(name: str, producer: str) -> str | None:
    """The module path in names such as ``/layer1/layer1.0/conv1/Conv``."""
    parts = name.split("/")
    if len(parts) > 2 and parts[0] == "":
        path = ""
        for part in parts[1:-1]:
            # A Sequential repeats its own name in that of its children.
            path = part if not path or part.startswith(f"{path}.") else f"{path}.{part}"
        return path or None
    if len(parts) > 1 and producer.startswith(_PATHS):
        return "/".join(parts[:-1])
    return None


def _last_frame(trace: str) -> re.Match[str] | None:
    """The innermost frame of the user's own code, or of whatever there is."""
    frames = list(_FRAME.finditer(trace))
    own = [frame for frame in frames if "site-packages" not in frame["file"]]
    return (own or frames)[-1] if frames else None
