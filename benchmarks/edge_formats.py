"""What a check says of small networks in every form of ExecuTorch, Core ML, OpenVINO and JAX.

Each network has random weights, so every conversion is faithful: whatever is called divergent is a
false alarm, and what loses precision by intention is degraded. Calibrated on samples of the kind
that the check uses. The figures go to benchmarks/results/edge_formats.json.

    python benchmarks/edge_formats.py
    python benchmarks/edge_formats.py --only BERT --form "OpenVINO int8"
    python benchmarks/edge_formats.py --brief     # one network, four forms
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measuring.tables import table, write_json

import isomorph
from isomorph import registry
from isomorph.core.conversion import AS_IS, Order

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
"""The networks of JAX are those of the tests."""

SAMPLES = 32
SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form of a network: the converters that lead to it, and the width of the last."""

    name: str
    converters: tuple[str, ...]
    width: str = AS_IS
    settings: Mapping[str, str] = field(default_factory=dict)


_F32 = {"candidate.precision": "f32"}
OF_PYTORCH = (
    Form(name="ExecuTorch portable", converters=("pytorch_to_executorch_portable",)),
    Form(name="ExecuTorch XNNPACK", converters=("pytorch_to_executorch",)),
    Form(name="ExecuTorch XNNPACK int8", converters=("pytorch_to_executorch",), width="int8"),
    Form(name="Core ML float32", converters=("pytorch_to_coreml",)),
    Form(name="Core ML float16", converters=("pytorch_to_coreml",), width="float16"),
    Form(name="Core ML palettized", converters=("pytorch_to_coreml",), width="palettized"),
    Form(name="OpenVINO float32", converters=("pytorch_to_openvino",), settings=_F32),
    Form(
        name="OpenVINO float16", converters=("pytorch_to_openvino",), width="float16", settings=_F32
    ),
    Form(
        name="OpenVINO int8",
        converters=("pytorch_to_openvino", "openvino_to_int8"),
        width="int8",
        settings=_F32,
    ),
)
OF_JAX = (
    Form(name="JAX to ONNX", converters=("jax_to_onnx",)),
    Form(name="JAX to TFLite", converters=("jax_to_tflite",)),
)
BRIEF = ("ExecuTorch XNNPACK", "Core ML float32", "OpenVINO int8", "JAX to ONNX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One check: what it says, the largest difference of an output, and what it took."""

    network: str
    form: str
    verdict: str
    error: float | None
    ratio: float | None
    seconds: float
    cause: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None, metavar="NAME", help="these networks")
    parser.add_argument("--form", nargs="*", default=None, metavar="FORM", help="these forms")
    parser.add_argument("--brief", action="store_true", help="one network, four forms")
    given = parser.parse_args()
    rows = []
    with TemporaryDirectory(prefix="isomorph-edge-") as folder:
        for network, reference, inputs, samples, forms in _written(Path(folder), given):
            for form in forms:
                row = _judged(Path(folder), network, reference, inputs, samples, form)
                rows.append(row)
                print("…", " · ".join(_shown(row)), flush=True)
    print(table(("network", "form", "verdict", "error", "of its budget", "CPU", "cause"),
                [_shown(row) for row in rows]))  # fmt: skip
    false = [row for row in rows if row.verdict not in {"equivalent", "degraded"}]
    print(f"{len(rows)} forms, {len(false)} false alarms")
    write_json("edge_formats", {"rows": [asdict(row) for row in rows]})


def _written(folder: Path, given: Any) -> Iterator[tuple[str, Path, Path, list[Path], list[Form]]]:
    """Each network with its file, the sample that is checked and those for calibration."""
    import torch
    from networks.edge_networks import EDGE_NETWORKS

    wanted = {"MobileNetV3-like"} if given.brief else None
    for network in EDGE_NETWORKS:
        forms = _forms(OF_PYTORCH, given)
        if forms and _chosen(network.name, given.only, wanted):
            torch.manual_seed(SEED)
            draw = np.random.default_rng(SEED)
            fed, *others = [network.sample(draw) for _ in range(SAMPLES + 1)]
            place = folder / network.name
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.backends.mha.set_fastpath_enabled(False)
                example = tuple(torch.from_numpy(each) for each in fed.values())
                program = torch.export.export(network.build().eval(), example)
                torch.export.save(program, f"{place}.pt2")
            kept = [_saved(Path(f"{place} {number}.npz"), each)
                    for number, each in enumerate([fed, *others])]  # fmt: skip
            yield network.name, Path(f"{place}.pt2"), kept[0], kept[1:], forms
    forms = _forms(OF_JAX, given)
    if forms:
        yield from _written_by_jax(folder, given.only, wanted, forms)


def _written_by_jax(
    folder: Path, only: list[str] | None, wanted: set[str] | None, forms: list[Form]
) -> Iterator[tuple[str, Path, Path, list[Path], list[Form]]]:
    import jax

    from jax_networks import NETWORKS, feeds_of

    for name, build in NETWORKS.items():
        if _chosen(f"{name}-like", only, wanted):
            function, arrays = build()
            fed = feeds_of(arrays)
            specs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in fed.values()]
            exported = jax.export.export(jax.jit(function), platforms=("cpu",))(*specs)
            place = folder / f"{name}.jax"
            place.write_bytes(exported.serialize())
            yield f"{name}-like", place, _saved(Path(f"{place}.npz"), fed), [], forms


def _forms(known: tuple[Form, ...], given: Any) -> list[Form]:
    wanted = set(BRIEF) if given.brief else None
    return [form for form in known if _chosen(form.name, given.form, wanted)]


def _chosen(name: str, only: list[str] | None, wanted: set[str] | None) -> bool:
    return (wanted is None or name in wanted) and (only is None or any(w in name for w in only))


def _saved(path: Path, arrays: Mapping[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


def _judged(
    folder: Path, network: str, reference: Path, inputs: Path, samples: list[Path], form: Form
) -> Judged:
    made = _converted(folder, reference, inputs, samples, form)
    report = isomorph.check(
        str(reference), str(made), inputs=str(inputs), settings=form.settings,
        translation_only=True,
    )  # fmt: skip
    errors = [part.distance.max_abs or 0.0 for each in report.outputs
              if (part := each.observed or each.translation or each.intended_loss)]  # fmt: skip
    ratios = [
        part.budget.ratio or 0.0
        for each in report.outputs
        if (part := each.intended_loss or each.rounding or each.translation) is not None
    ]
    return Judged(
        network=network,
        form=form.name,
        verdict=str(report.verdict if report.translation is None else report.translation),
        error=max(errors, default=None),
        ratio=max(ratios, default=None),
        seconds=report.cost.cpu if report.cost is not None else 0.0,
        cause=report.findings[0].summary if report.findings else "",
    )


def _converted(
    folder: Path, reference: Path, inputs: Path, samples: list[Path], form: Form
) -> Path:
    """The file at the end of the converters."""
    graph = registry.framework(registry.converter(form.converters[0]).source).load(
        str(reference), {}
    ).graph  # fmt: skip
    source = reference
    for name in form.converters:
        converter = registry.converter(name)
        last = name == form.converters[-1]
        target = folder / f"{reference.stem} {form.name}" / f"{name}{converter.suffix}"
        target.parent.mkdir(exist_ok=True)
        order = Order(
            source=str(source), target=str(target), example=str(inputs),
            samples=tuple(map(str, samples)), width=form.width if last else AS_IS,
            inputs=graph.inputs, outputs=graph.outputs,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converter.convert(order)
        source = target
    return source


def _shown(row: Judged) -> tuple[str, ...]:
    error = "" if row.error is None else f"{row.error:.1e}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    return (row.network, row.form, row.verdict, error, ratio, f"{row.seconds:.1f} s",
            row.cause)  # fmt: skip


if __name__ == "__main__":
    main()
