"""OpenVINO in a script that needs no isomorph."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.extraction import ScriptSource


def script_source(configuration: Mapping[str, object]) -> ScriptSource:
    """The model as the CPU plugin compiles it with this configuration."""
    return ScriptSource(
        imports=("import openvino",),
        packages=("openvino",),
        body=(
            "core = openvino.Core()",
            f"configuration = {dict(configuration)!r}",
            "compiled = core.compile_model(core.read_model(path), 'CPU', configuration)",
            "return compiled(list(feeds.values()))[0]",
        ),
        variables={},
    )
