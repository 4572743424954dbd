"""Every kind of edit goes to the one method that is marked for it."""

import pytest

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies
from isomorph.core.errors import UsageError


class _Editor(EditDispatcher):
    edited = "a toy model"

    def __init__(self):
        self.done = []

    @applies(edits.RemoveNode)
    def _remove(self, edit):
        self.done.append(edit.node)


class _Wider(_Editor):
    @applies(edits.SetOp)
    def _set_op(self, edit):
        self.done.append(edit.op)


def test_the_marked_method_is_called():
    editor = _Editor()
    editor.apply_edit(edits.RemoveNode(node="a"))
    assert editor.done == ["a"]


def test_an_edit_without_a_method_is_refused_by_its_name():
    with pytest.raises(UsageError, match="a toy model takes no edit SwapBodies") as raised:
        _Editor().apply_edit(edits.SwapBodies(node="a"))
    assert raised.value.code == "PATCH_NOT_POSSIBLE"


def test_a_subclass_adds_kinds_and_leaves_its_base_alone():
    assert _Wider.kinds() == {edits.RemoveNode, edits.SetOp}
    assert _Editor.kinds() == {edits.RemoveNode}


def test_onnx_applies_every_edit():
    from isomorph.frameworks.onnx.edit_graph import Editor

    assert Editor.kinds() == set(edits.EDITS.values()) - {edits.RaiseOpset}
