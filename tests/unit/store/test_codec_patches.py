"""Patches survive the way to a worker, arrays and all."""

import json

import numpy as np

from isomorph.core import patch as edits
from isomorph.core.patch import EDITS, Patch
from isomorph.store.codec import decode, encode

ALL = (
    edits.SetAttribute(node="n", name="pads", value=(1, 1, 0, 0)),
    edits.SetAttribute(node="n", name="alpha", value=float("inf")),
    edits.AddConstant(name="c", value=np.arange(6, dtype=np.int8).reshape(2, 3)),
    edits.SetConstant(tensor="w", value=np.float32(2.5).reshape(())),
    edits.SetInput(node="n", index=2, tensor="t"),
    edits.SetOp(node="n", op="com.microsoft::FusedConv", attributes={"activation": "Relu"}),
    edits.RemoveNode(node="n"),
    edits.InsertBehind(tensor="t", op="Add", name="new", inputs=("", "c")),
    edits.InsertAhead(node="n", index=0, op="Transpose", name="m", attributes={"perm": (1, 0)}),
    edits.AddNode(name="m", op="Pad", inputs=("t", "", "c"), outputs=("u",), attributes={"a": 1}),
    edits.DeclareShape(tensor="y", shape=(2, 3)),
    edits.SetOutputs(names=("b", "a")),
    edits.SwapBodies(node="n"),
    edits.EditBody(
        node="n", body="then_branch", edits=(edits.SetAttribute(node="i", name="a", value=1.5),)
    ),
    edits.FreeAxis(tensor="x", axis=0, name="batch"),
    edits.SetQuantization(tensor="t", scale=(0.5, 0.25), zero_point=(0, -3), axis=1),
    edits.KeepFloat(node="n"),
    edits.RaiseOpset(version=16),
)


def test_every_edit_comes_back_as_it_was():
    assert {type(edit).__name__ for edit in ALL} == set(EDITS)
    sent = json.dumps(encode(Patch(summary="s", edits=ALL)))
    back = decode(Patch, json.loads(sent))
    assert back.summary == "s"
    for cand, ref in zip(ALL, back.edits, strict=True):
        assert type(cand) is type(ref)
        for name in type(cand).__dataclass_fields__:
            one, other = getattr(cand, name), getattr(ref, name)
            if isinstance(one, np.ndarray):
                assert one.dtype == other.dtype
                assert np.array_equal(one, other)
            else:
                assert one == other
