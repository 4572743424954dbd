"""Validate what the user asked for, and write the report beside the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.conversion.convert import ConversionRequest
from isomorph.conversion.plan import formats, refuse_bfloat16
from isomorph.core.conversion import AS_IS, PRECISIONS
from isomorph.core.errors import UsageError
from isomorph.store.atomic import new_file, refuse_link
from isomorph.store.targets import check_target, refuse_overwriting

if TYPE_CHECKING:
    from isomorph.core.conversion import Conversion

SUFFIXES = {
    ".onnx": "onnx", ".tflite": "tflite", ".xml": "openvino", ".pt2": "pytorch",
    ".pte": "executorch",
    ".mlpackage": "coreml",
}  # fmt: skip
"""The format by suffix; a name without a suffix is a folder, which holds a SavedModel."""


def conversion_request(
    target: str | Path,
    *,
    to: str | None,
    width: str | None,
    via: Sequence[str],
    precision: str | None = None,
    opset: int | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    repair: bool = False,
    keep: bool = False,
    options: Mapping[str, str] | None = None,
    check_options: Mapping[str, Any] | None = None,
) -> ConversionRequest:
    """The validated request; ``check_options`` are repeated in the command that repeats it."""
    path = Path(target)
    _refuse_precision(precision, width)
    return ConversionRequest(
        target=to or format_of(path),
        output=path,
        width=precision or width or AS_IS,
        fewest_float32=precision is not None,
        via=tuple(via),
        opset=opset,
        ranges=ranges or {},
        repair=repair,
        keep=keep,
        options={**(options or {}), "home": str(Path.cwd())},
        words=tuple(_repeated_options(check_options or {}))
        + (("--trust",) if (options or {}).get("trust") else ()),
    )


def _refuse_precision(precision: str | None, width: str | None) -> None:
    if precision is not None and precision not in PRECISIONS:
        raise UsageError(
            "BAD_OPTION",
            f"--precision {precision!r} is not known",
            why=f"known: {', '.join(PRECISIONS)}",
        )
    if precision is not None and width is not None:
        raise UsageError(
            "BAD_OPTION",
            "--precision and --quantize both state the type",
            why="--precision keeps the fewest nodes in float32, --quantize none",
            fix="leave one of them out",
        )
    refuse_bfloat16(precision)


def format_of(path: Path) -> str:
    """The format that the suffix of a file names, or that a folder has."""
    if not path.suffix:
        return "tensorflow"
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            "UNKNOWN_NAME",
            f"the suffix {path.suffix!r} names no format",
            why=f"known: {', '.join(SUFFIXES)}, and a name without suffix for a SavedModel",
            fix=f"state it: --to {'|'.join(formats())}",
        )
    return found


def _repeated_options(options: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name in ("data", "inputs", "state", "memory", "timeout"):
        if isinstance(options.get(name), (str, Path, int, float)):
            words += [f"--{name}", str(options[name])]
    for output, budget in (options.get("budget") or {}).items():
        words += ["--budget", f"{output}={budget!r}" if output else repr(budget)]
    for axis, size in (options.get("dims") or {}).items():
        words += ["--dim", f"{axis}={size}"]
    for axis, sizes in (options.get("sizes") or {}).items():
        words += ["--dims", f"{axis}={','.join(map(str, sizes))}"]
    words += ["--translation-only"] if options.get("translation_only") else []
    return [*words, "--seed", str(options["seed"])] if options.get("seed") else words


def refuse_target(output: Path, source: object) -> None:
    """Refuse a target that cannot or must not be written to, before any work is done."""
    refuse_link(output)
    refuse_overwriting(output, source if isinstance(source, (str, Path)) else None)
    if output.is_dir():
        raise UsageError(
            "OUTPUT_EXISTS",
            "the place to write to is a folder that exists:",
            file=str(output),
            fix="name a new one",
        )
    check_target(output)


def write_report(
    conversion: Conversion, output: Path, render: Callable[[Conversion], str]
) -> Conversion:
    """The whole conversion, beside the model or where the model would have been."""
    path = output.with_name(f"{output.name}.report.json")
    done = replace(conversion, report_file=str(path))
    with new_file(path) as file:
        file.write(render(done).encode("utf-8") + b"\n")
    return done
