"""Lowers a program of PyTorch to ExecuTorch, with XNNPACK or for the portable kernels alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isomorph.converters._torch_operators import taken
from isomorph.core.conversion import AS_IS, Order
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.lazy import require

INSTALL = "pip install 'isomorph[executorch]'"
LOSES = ("gradients and training mode", "the names of inputs, outputs and weights")


def abilities(name: str) -> dict[str, object]:
    """Operators that have a kernel, and those that are decomposed before."""
    torch = require("torch", extra="torch", needed_for=f"converter {name!r}")
    require("executorch", extra="executorch", needed_for=f"converter {name!r}")
    from executorch.extension.pybindings import _C

    words = {each.rpartition("::")[2].partition(".")[0] for each in _C._get_operator_names()}
    words |= {word.removesuffix("_copy") for word in words}
    core = [
        overload
        for word in dir(torch.ops.aten)
        if word in words
        for overload in _overloads(getattr(torch.ops.aten, word))
        if torch.Tag.core in overload.tags
    ]
    return {"operators": taken(torch, (*core, *torch.export.default_decompositions()))}


def _overloads(packet: Any) -> Iterator[Any]:  # noqa: ANN401
    yield from (getattr(packet, word) for word in packet.overloads())


def lowered(order: Order, name: str, *, delegates: bool) -> Sequence[str]:
    """Write the program; what a user should know about how it was done."""
    torch = require("torch", extra="torch", needed_for=f"converter {name!r}")
    require("executorch", extra="executorch", needed_for=f"converter {name!r}")
    from isomorph.frameworks.pytorch.live_module import live_program

    given = live_program(order, "ExecuTorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporters' own, about their next releases
        program = given.native
        if given.kind == "module":
            program = torch.export.export(given.module.eval(), given.args, dict(given.kwargs))
        notes: list[str] = []
        if order.width != AS_IS:
            samples = list(_samples(order, torch)) if order.width == "int8" else [given.values]
            program = _quantized(torch, program, samples, dynamic=order.width == "dynamic")
            if order.width == "int8":
                notes.append(f"calibrated on {len(samples)} samples")
        partitioners = _partitioners(dynamic=order.width == "dynamic") if delegates else []
        from executorch.exir import to_edge_transform_and_lower

        edge = to_edge_transform_and_lower(program, partitioner=partitioners)
        Path(order.target).write_bytes(bytes(edge.to_executorch().buffer))
    return tuple(notes)


def _partitioners(*, dynamic: bool) -> list[Any]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )

    # What is quantized as it runs goes to a delegate by itself, the rest to others.
    first = [XnnpackDynamicallyQuantizedPartitioner()] if dynamic else []
    return [*first, XnnpackPartitioner()]


def _samples(order: Order, torch: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """The arguments of each sample, in the order of the inputs."""
    for path in order.samples:
        with np.load(path) as arrays:
            names = [spec.name for spec in order.inputs]
            if not set(names) <= set(arrays.files):
                raise RuntimeFailedError(
                    "CONVERTER_FAILED",
                    "a sample for calibration lacks an input",
                    file=path,
                    why=f"the inputs: {', '.join(names)}; the sample: {', '.join(arrays.files)}",
                )
            yield tuple(torch.from_numpy(np.array(arrays[name])) for name in names)


def _quantized(
    torch: Any,  # noqa: ANN401
    program: Any,  # noqa: ANN401
    samples: Sequence[tuple[Any, ...]],
    *,
    dynamic: bool,
) -> Any:  # noqa: ANN401
    """The program with quantizers of eight bits around what XNNPACK computes in them."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    prepared = prepare_pt2e(program.module(), XNNPACKQuantizer().set_global(config))
    for sample in samples:
        prepared(*sample)
    return torch.export.export(convert_pt2e(prepared), tuple(samples[0]))
