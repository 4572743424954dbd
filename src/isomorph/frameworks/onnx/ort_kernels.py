"""Which types the kernels of the installed ONNX Runtime take, from its own table."""

from __future__ import annotations

import re

from isomorph.frameworks.onnx.ort_import import onnxruntime

_TENSOR = re.compile(r"tensor\((\w+)\)")
_NAMES = {"float": "float32", "double": "float64"}


def kernel_types(provider: str = "CPUExecutionProvider") -> dict[str, tuple[str, ...]]:
    """For each standard operator the types that any of its kernels takes at any place."""
    state = onnxruntime(
        "reading the kernels of ONNX Runtime", part="capi.onnxruntime_pybind11_state"
    )
    found: dict[str, set[str]] = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider != provider or kernel.domain not in {"", "ai.onnx"}:
            continue
        words = [word for types in kernel.type_constraints.values() for word in types]
        names = {match[1] for word in words if (match := _TENSOR.fullmatch(word))}
        found.setdefault(kernel.op_name, set()).update(_NAMES.get(name, name) for name in names)
    # Where there is none for float16, it puts casts around the one for float32.
    widened = {
        op: types | {"float16"} if "float32" in types else types for op, types in found.items()
    }
    return {op: tuple(sorted(types)) for op, types in widened.items() if types}
