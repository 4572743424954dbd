"""A patch applied to a copy of a TFLite model. The model itself is never changed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from isomorph.frameworks.tflite.edit_graph import Editor
from isomorph.frameworks.tflite.flatbuffer_writer import aligned, serialized
from isomorph.frameworks.tflite.parse import read_program
from isomorph.frameworks.tflite.program import raw_buffer

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.frameworks.tflite.program import TfliteProgram


def patched(program: TfliteProgram, patch: Patch) -> bytes:
    """The flatbuffer of a whole copy with the patch applied, valid by our own rules."""
    model = _edited(program, patch)
    read_program(model, program.data, file=_name(program))
    data = program.data
    model.buffers = [aligned(raw_buffer(model, data, place)) for place in range(len(model.buffers))]
    return serialized(model)


def patched_in_memory(program: TfliteProgram, patch: Patch) -> TfliteProgram:
    """The patched program in memory; weights that nobody changed stay where they are."""
    model = _edited(program, patch)
    return read_program(model, program.data, file=_name(program), path=program.path)


def _name(program: TfliteProgram) -> str:
    return str(program.path or "the patched model")


def _edited(program: TfliteProgram, patch: Patch) -> Any:  # noqa: ANN401
    """A copy of the schema's objects, as deep as a patch of the main sub-graph can reach."""
    model = copy.copy(program.model)
    graph = copy.copy(model.subgraphs[0])
    graph.tensors = [copy.copy(each) for each in graph.tensors or ()]
    graph.operators = [copy.copy(each) for each in graph.operators or ()]
    model.subgraphs = [graph, *model.subgraphs[1:]]
    model.buffers = list(model.buffers)
    model.operatorCodes = list(model.operatorCodes or ())
    editor = Editor(model, program)
    for edit in patch.edits:
        editor.apply_edit(edit)
    editor.finish()
    return model
