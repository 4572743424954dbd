"""onnx2tf, with options that keep what it would change, and without its downloads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isomorph.converters._onnx_names import renamed
from isomorph.core.conversion import Order, Workaround
from isomorph.core.lazy import require

_WORKAROUNDS = (
    Workaround(name="fixed batch", description="the batch is fixed at 1", options={"batch": "1"}),
    Workaround(
        name="not simplified", description="without its simplifier", options={"simplify": "no"}
    ),
    Workaround(
        name="plain names",
        description="names that begin with an underscore were changed: TensorFlow takes none",
        options={"names": "plain"},
    ),
    Workaround(
        name="pseudo operators",
        description="operators that TFLite has no kernel for are written as formulas near them",
        options={"pseudo": "yes"},
    ),
)

_PSEUDO = "replace_to_pseudo_operators"
"""What a module of onnx2tf reads, where it knows a formula."""

# It wants this file for every input of four axes, from the network unless it is already there.
_PICTURES = "calibration_image_sample_data_20x128x128x3_float32.npy"


class Onnx2tf:
    """What both converters of this package share."""

    source = "onnx"
    packages = ("onnx2tf", "tf_keras", "onnx_graphsurgeon", "sng4onnx", "tensorflow")
    install = (
        "pip install 'isomorph[tensorflow]' && pip install --no-deps onnx2tf==1.28.8 tf_keras "
        "onnx_graphsurgeon sne4onnx sng4onnx"
    )
    worker = "onnx2tf"
    rank, named = 0, False
    workarounds = _WORKAROUNDS
    loses = ("metadata of the ONNX file", "the names of nodes")

    def abilities(self) -> dict[str, object]:
        """Operators with a module of their own."""
        return {"operators": operators()}


def operators() -> list[str]:
    """Those that it has a module for; nothing is imported."""
    return sorted(_modules())


def _modules() -> dict[str, Path]:
    found = find_spec("onnx2tf")
    if found is None or not found.submodule_search_locations:
        return {}
    folder = Path(found.submodule_search_locations[0]) / "ops"
    # A module whose name begins with an underscore serves those without.
    return {path.stem.lstrip("_"): path for path in folder.glob("*.py")}


def pseudo_operators() -> list[str]:
    """Those that TFLite has no kernel for and onnx2tf can write as a formula, as it spells them."""
    from tensorflow.lite.python.schema_py_generated import BuiltinOperator

    built_in = {name.replace("_", "") for name in vars(BuiltinOperator)}
    return sorted(
        op.lower()
        for op, path in _modules().items()
        if op.upper() not in built_in and _PSEUDO in path.read_text(encoding="utf-8")
    )


def converted(order: Order, folder: Path, **wanted: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Run it into ``folder``; the current folder is ours, and so is the source."""
    package = require("onnx2tf", extra="convert", needed_for="the way from ONNX to TensorFlow")
    import numpy as np

    pictures = np.random.default_rng(0).random((20, 128, 128, 3), dtype=np.float32)
    np.save(Path.cwd() / _PICTURES, pictures)
    names = [spec.name for spec in order.inputs]
    if order.options.get("names") == "plain":
        names = _without_underscores(order.source, names)
    batch = order.options.get("batch")
    package.convert(
        input_onnx_file_path=order.source,
        output_folder_path=str(folder),
        # Otherwise NCHW becomes NHWC, and (batch, time, features) becomes (batch, features, time).
        keep_shape_absolutely_input_names=_spellings(names) or None,
        # Without signatures it gives up on names that begin with an underscore.
        output_signaturedefs=True,
        batch_size=int(batch) if batch else None,
        copy_onnx_input_output_names_to_tflite=True,
        # Its shape inference needs the simplifier, which runs in yet another process.
        replace_to_pseudo_operators=pseudo_operators()
        if order.options.get("pseudo") == "yes"
        else None,
        not_use_onnxsim=order.options.get("simplify") == "no",
        non_verbose=True,
        verbosity="error",
        **wanted,
    )
    return (f"asked to keep the axes of {', '.join(names)} as they are",) if names else ()


def _without_underscores(source: str, inputs: Sequence[str]) -> list[str]:
    """The file, which is a copy, with other names where need be; what its inputs are called now."""
    import onnx

    model = onnx.load(source)
    names = renamed(model, lambda name: f"t{name}" if name.startswith("_") else name)
    onnx.save(model, source)
    return [names[name] for name in inputs]


def _spellings(names: Sequence[str]) -> list[str]:
    """Each name as it is, and as it may be called by the time it is looked for."""
    found: dict[str, None] = {}
    for name in names:
        rooted = f"wa{name}" if name.startswith("/") else name
        found |= dict.fromkeys((name, rooted, name.replace(":", "__"), rooted.replace(":", "__")))
    return list(found)
