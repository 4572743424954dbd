"""Faithful conversions of one model: exporters, optimizers, folding, opsets, widths.

Each takes what has been written so far and writes one more file. A conversion that a tool cannot
do raises; the calibration says so and goes on, for it measures isomorph and not the tool.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

from clean.case import Case, input_names


class NotMadeError(Exception):
    """There is no such conversion of this model."""


@dataclass(slots=True)
class Source:
    """One model in the hands of the converters; files are made once, when first asked for."""

    case: Case
    module: nn.Module
    example: tuple[torch.Tensor, ...]
    folder: Path
    _made: dict[str, Path | NotMadeError] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        """The model converted in the named way."""
        if name not in self._made:
            path = self.folder / f"{name}.{'pt2' if name in TORCH else 'onnx'}"
            try:
                with _silenced():
                    CONVERSIONS[name](self, path)
                    self.accepted(path)
                self._made[name] = path
            except Exception as error:
                text = str(error).strip() or "no message"
                self._made[name] = NotMadeError(f"{type(error).__name__}: {text.splitlines()[0]}")
        made = self._made[name]
        if isinstance(made, NotMadeError):
            raise made
        return made

    def accepted(self, path: Path) -> None:
        """A file that ONNX Runtime itself does not load, or does not run, is no conversion."""
        if path.suffix != ".onnx":
            return
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        example = dict(zip(input_names(self.module), self.example, strict=True))
        feeds = {each.name: example[each.name].numpy() for each in session.get_inputs()}
        for each in session.get_inputs():
            if each.type == "tensor(float16)":
                feeds[each.name] = feeds[each.name].astype(np.float16)
        session.run(None, feeds)


def source(case: Case, folder: Path) -> Source:
    """Build the model of a case, with seeded weights."""
    torch.manual_seed(0)
    # The fused encoder layer is an operator that the old exporter does not know.
    torch.backends.mha.set_fastpath_enabled(False)
    module = case.build().eval()
    # Other numbers than it will be fed: what an exporter bakes in must show.
    drawn = case.inputs(np.random.default_rng([0, 1]))
    example = tuple(torch.from_numpy(drawn[name]) for name in input_names(module))
    return Source(case=case, module=module, example=example, folder=folder)


@contextmanager
def _silenced() -> Iterator[None]:
    """The old exporter prints whole graphs when it fails, and not by way of Python."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _exported(source: Source, path: Path) -> None:
    torch.export.save(torch.export.export(source.module, source.example), path)


def _decomposed(source: Source, path: Path) -> None:
    program = torch.export.export(source.module, source.example)
    torch.export.save(program.run_decompositions(), path)


def _dynamo(source: Source, path: Path, *, optimize: bool = True, opset: int | None = None) -> None:
    program = torch.onnx.export(
        source.module, source.example, dynamo=True, optimize=optimize, verbose=False,
        opset_version=opset, input_names=input_names(source.module),
    )  # fmt: skip
    program.save(path)


def _legacy(source: Source, path: Path, *, opset: int = 17) -> None:
    torch.onnx.export(
        source.module, source.example, str(path), dynamo=False, opset_version=opset,
        input_names=input_names(source.module),
    )  # fmt: skip


def _dump(source: Source, path: Path, *, of: str, level: str) -> None:
    """What ONNX Runtime makes of the graph, as a file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}"
    )
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source.file(of)), options, providers=["CPUExecutionProvider"])


def _folded(source: Source, path: Path) -> None:
    """Every BatchNorm that follows a convolution folded into it, by PyTorch's own arithmetic."""
    module = copy.deepcopy(source.module)
    if not _fold(module):
        raise NotMadeError("no BatchNorm follows a convolution here")
    folded = Source(case=source.case, module=module, example=source.example, folder=source.folder)
    _dynamo(folded, path, optimize=False)


def _fold(module: nn.Module) -> int:
    fuse = torch.nn.utils.fusion.fuse_conv_bn_eval
    count = 0
    for child in module.modules():
        if not isinstance(child, nn.Sequential):
            continue
        for place in range(len(child) - 1):
            first, second = child[place], child[place + 1]
            transposed = isinstance(first, nn.ConvTranspose2d)
            convolution = isinstance(first, (nn.Conv1d, nn.Conv2d, nn.Conv3d)) or transposed
            norm = isinstance(second, nn.modules.batchnorm._BatchNorm)
            if convolution and norm:
                child[place] = fuse(first, second, transpose=transposed)
                child[place + 1] = nn.Identity()
                count += 1
    return count


def _newer_opset(source: Source, path: Path) -> None:
    model = onnx.load(source.file("legacy"))
    onnx.save(onnx.version_converter.convert_version(model, 21), path)


def _slimmed(source: Source, path: Path) -> None:
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source.file("legacy"))), path)


def _simplified(source: Source, path: Path) -> None:
    import onnxsim

    model, sound = onnxsim.simplify(onnx.load(source.file("dynamo_plain")))
    if not sound:
        raise NotMadeError("onnxsim says that its result is not sound")
    onnx.save(model, path)


def _float16(source: Source, path: Path) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    _refuse_wide(source)
    model = onnx.load(source.file("dynamo"))
    onnx.save(convert_float_to_float16(model, keep_io_types=True), path)


def _refuse_wide(source: Source) -> None:
    if not source.case.narrow:
        raise NotMadeError("its values do not fit into float16")


def _half(source: Source) -> Source:
    _refuse_wide(source)
    module = copy.deepcopy(source.module).half()
    narrow = tuple(each.half() if each.is_floating_point() else each for each in source.example)
    return Source(case=source.case, module=module, example=narrow, folder=source.folder)


def _exported_half(source: Source, path: Path) -> None:
    half = _half(source)
    # On a CPU, PyTorch has no float16 kernel for some operators.
    half.module(*half.example)
    _exported(half, path)


CONVERSIONS: dict[str, Callable[..., Any]] = {
    "torch": _exported,
    "torch_decomposed": _decomposed,
    "torch_half": _exported_half,
    "dynamo": _dynamo,
    "dynamo_plain": lambda s, p: _dynamo(s, p, optimize=False),
    "dynamo_half": lambda s, p: _dynamo(_half(s), p),
    "dynamo_opset_23": lambda s, p: _dynamo(s, p, opset=23),
    "legacy": _legacy,
    "legacy_opset_11": lambda s, p: _legacy(s, p, opset=11),
    "ort_basic": lambda s, p: _dump(s, p, of="dynamo", level="BASIC"),
    "ort_extended": lambda s, p: _dump(s, p, of="legacy", level="EXTENDED"),
    "ort_all": lambda s, p: _dump(s, p, of="dynamo_plain", level="ALL"),
    "folded": _folded,
    "newer_opset": _newer_opset,
    "onnxslim": _slimmed,
    "onnxsim": _simplified,
    "float16": _float16,
}
TORCH = frozenset({"torch", "torch_decomposed", "torch_half"})
