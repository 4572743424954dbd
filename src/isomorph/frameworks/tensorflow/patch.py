"""A patched copy of a TensorFlow model in the format of the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core import patch as edits
from isomorph.core.errors import UsageError
from isomorph.frameworks.tensorflow.edit import Editor, graph_def
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.silence_logs import quietly
from isomorph.store.atomic import new_file

if TYPE_CHECKING:
    from isomorph.core.patch import Patch

_IN_PLACE = (edits.SetAttribute, edits.SetConstant)
"""What can be written into a file that holds layers or functions, and not the graph itself."""


def patched_in_memory(model: TfModel, patch: Patch) -> TfModel:
    """The patched program in memory; what no file of this kind could hold is not tried."""
    kinds = {type(edit).__name__ for edit in patch.edits if not isinstance(edit, _IN_PLACE)}
    if kinds and model.kind != "graph":
        raise UsageError(
            "PATCH_NOT_POSSIBLE",
            f"{', '.join(sorted(kinds))} would need other layers than the file has",
            fix="change the layers in the source, and save the model again",
        )
    return replace(model, program=Editor(model.program).apply(patch.edits), graph=None, eager=None)


def write_patched(model: TfModel, location: str, patch: Patch, path: Path) -> None:
    """The copy: a graph is written anew, files of layers and functions are changed in place."""
    after = patched_in_memory(model, patch).program
    if model.kind == "graph":
        with new_file(path) as stream:
            stream.write(graph_def(after).SerializeToString(deterministic=True))
        return
    source = Path(location)
    if not source.exists():
        raise UsageError(
            "PATCH_NOT_POSSIBLE",
            "a model that was passed live has no file to patch",
            fix="save it, and repair the file",
        )
    with quietly():
        if model.kind == "keras":
            from isomorph.frameworks.tensorflow.patch_keras import write_keras

            write_keras(source, model.origin[0], model.program, after, path)
        else:
            from isomorph.frameworks.tensorflow.patch_saved_model import write_saved_model

            folder = source if source.is_dir() else source.parent
            write_saved_model(folder, model.program, after, path)
