import json
from dataclasses import replace

import jsonschema
import pytest

from isomorph import api
from isomorph.__main__ import main
from isomorph.core.model import Quantization, Source, TensorSpec
from isomorph.core.model_diff import (
    ChangeKind,
    DiffNode,
    DiffRow,
    ModelDiff,
    NodeChange,
    OpsetPair,
    QuantizationPair,
    Relation,
    SpecPair,
    counted_rows,
)
from isomorph.core.report import ModelSummary
from isomorph.reporters.json import schema


def _node(name, op="Relu", **facts):
    return DiffNode(name=name, op=op, native_op=op, **facts)


@pytest.fixture
def found(monkeypatch):
    """A diff with a row of every relation, which ``isomorph.diff`` returns."""
    x = TensorSpec(name="x", dtype="float32", shape=("batch", 3))
    coarse = Quantization(tensor="w", dtype="int8", scale=(0.5, 0.25), zero_point=(0, 0), axis=1)
    side = ModelSummary(role="reference", location="a.onnx", framework="onnx", digest="d", nodes=9,
                        constants=2)  # fmt: skip
    alpha = NodeChange(kind=ChangeKind.ATTRIBUTE, name="alpha", reference="0.1", candidate="0.2")
    where = Source(module="blocks.1", file="src/net.py", line=7)
    linear = DiffRow(relation=Relation.REGROUPED, reference=(_node("l", "Gemm"),),
                     candidate=(_node("m", "MatMul"), _node("s", "Add")))  # fmt: skip
    rows = (
        DiffRow(relation=Relation.MATCHED, reference=(_node("r"),), candidate=(_node("q"),),
                renamed=True),
        DiffRow(relation=Relation.CHANGED, reference=(_node("bend", "LeakyRelu", source=where),),
                candidate=(_node("bend2", "LeakyRelu"),), changes=(alpha,)),
        *([linear] * 5),
        replace(linear, candidate=(_node("odd", "Sigmoid"), *linear.candidate)),
        DiffRow(relation=Relation.CONVERSION, candidate=(_node("t", "Transpose"),)),
        DiffRow(relation=Relation.ADDED, candidate=(_node("more\x1b[2J", "Tanh"),)),
        DiffRow(relation=Relation.REMOVED, reference=(_node("less", "Sin"),)),
        DiffRow(relation=Relation.MOVED, reference=(_node("mv"),), candidate=(_node("mv"),)),
    )  # fmt: skip
    diff = ModelDiff(
        reference=side,
        candidate=replace(side, role="candidate", location="b\x1b[2J.onnx"),
        same=False,
        counts=counted_rows(rows),
        rows=rows,
        inputs=(
            SpecPair(kind="input", reference=x, candidate=replace(x, name="y", dtype="int8"),
                     how="the only one left", changed=("name", "dtype")),
            SpecPair(kind="input", reference=None, candidate=x, how="not paired"),
        ),
        opsets=(OpsetPair(domain="ai.onnx", reference=18, candidate=21),),
        quantization=(
            QuantizationPair(reference=coarse, candidate=None),
            QuantizationPair(reference=coarse, candidate=coarse),
            QuantizationPair(
                reference=coarse,
                candidate=Quantization(tensor="v", dtype="int8", scale=(0.125,), zero_point=(7,)),
                changed=("axis", "scale", "zero_point"),
            ),
        ),
    )  # fmt: skip
    monkeypatch.setattr(api, "diff", lambda one, other, **words: diff)
    return diff


def test_counts_come_first_then_changes_then_the_rest(found, capsys):
    assert main(["diff", "a.onnx", "b.onnx"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "STRUCTURE DIFFERS  a.onnx and b\\x1b[2J.onnx"
    assert lines[1].strip() == (
        "1 node matched (1 renamed), 1 changed, 6 groups of 6 ↔ 13 nodes, 1 removed, 1 added, "
        "1 moved, 1 of the conversion"
    )
    at = {line.strip(): place for place, line in enumerate(lines)}
    assert lines[at["Changed"] + 1].split() == [
        "LeakyRelu",
        "bend",
        "/",
        "bend2",
        "in",
        "blocks.1",
        "net.py:7",
    ]
    assert lines[at["Changed"] + 2].strip() == "alpha: 0.1 → 0.2"
    # The odd one of many groups comes first.
    groups = at["Computed by other nodes (reference ↔ candidate)"]
    assert lines[groups + 1].strip() == "Gemm ↔ Sigmoid, MatMul, Add: l"
    assert lines[groups + 2].strip() == "5 × Gemm ↔ MatMul, Add: l, l, l and 2 more (-v)"
    text = "\n".join(lines)
    assert "added by the conversion: Transpose: t" in text
    assert "Tanh more\\x1b[2J" in text
    assert "opset ai.onnx" in text
    assert "name, dtype (by the only one left)" in text
    assert "3 quantized tensors: 1 changed, 1 on one side only" in text
    assert "2 scales 0.25 to 0.5 along axis 1" in text
    assert "Matched" not in text


def test_everything_is_listed_on_demand(found, capsys):
    assert main(["diff", "a.onnx", "b.onnx", "-v"]) == 1
    text = capsys.readouterr().out
    assert "Relu  r / q" in text
    assert text.count("l ↔ m, s") == 5
    assert "(-v)" not in text


def test_the_document_has_a_schema(found, capsys):
    assert main(["diff", "a.onnx", "b.onnx", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "isomorph.diff/1"
    jsonschema.validate(document, schema("diff"))
    assert document["counts"]["regrouped"] == 6
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "rows": [{"relation": "unheard of"}]}, schema("diff"))


def test_a_page_is_written_by_its_ending(found, tmp_path, capsys):
    page = tmp_path / "diff.html"
    assert main(["diff", "a.onnx", "b.onnx", "-o", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert '"alpha"' in text
    assert "ISOMORPH-REPORT" not in text
    assert "written to" in capsys.readouterr().out


def test_another_format_is_refused(found, capsys):
    assert main(["diff", "a.onnx", "b.onnx", "--format", "sarif"]) == 2
    assert "one of: html, json, terminal" in capsys.readouterr().err


def test_the_same_structure_is_exit_code_zero(found, monkeypatch, capsys):
    same = replace(found, same=True, rows=found.rows[:1], quantization=(), inputs=(), opsets=())
    monkeypatch.setattr(api, "diff", lambda one, other, **words: same)
    assert main(["diff", "a.onnx", "b.onnx"]) == 0
    assert capsys.readouterr().out.startswith("SAME STRUCTURE")


def test_many_other_constants_are_another_checkpoint(found, monkeypatch, capsys):
    def other(at):
        change = NodeChange(kind=ChangeKind.CONSTANT, name=f"w{at}", reference="a", candidate="b")
        return DiffRow(relation=Relation.CHANGED, reference=(_node(f"n{at}"),),
                       candidate=(_node(f"n{at}"),), changes=(change,))  # fmt: skip

    many = replace(found, rows=tuple(map(other, range(40))))
    monkeypatch.setattr(api, "diff", lambda one, two, **words: many)
    main(["diff", "a.onnx", "b.onnx"])
    text = capsys.readouterr().out
    assert "and 28 more (-v)" in text
    assert "40 nodes have other constants: probably another checkpoint" in text


def test_inspect_points_to_it(capsys):
    assert main(["inspect", "a.onnx", "b.onnx"]) == 2
    assert "isomorph diff a.onnx b.onnx" in capsys.readouterr().err
