"""A report that has located the faults spares a repair the search for them."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import isomorph
from isomorph.core.errors import UsageError
from isomorph.repair import targets
from isomorph.reporters.json import as_json
from isomorph.store.reports import read_report

HEAD = '<ir_version: 9, opset_import: ["" : 20]>'
BODY = """
    g (float[2,3,6,6] x) => (float[2,4,6,6] y) {
        [conv] a = Conv <pads: ints = [1,1,1,1]> (x, w)
        [leak] b = LeakyRelu <alpha: float = 0.05> (a)
        [norm] c = InstanceNormalization <epsilon: float = 1e-5> (b, scale, shift)
        [bend] y = Elu <alpha: float = 1.0> (c)
    }
"""


def _drawn(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


WEIGHTS = {"w": _drawn(4, 3, 3, 3), "scale": _drawn(4), "shift": _drawn(4)}


def _model(path, **changed):
    proto = onnx.parser.parse_model(f"{HEAD} {BODY}")
    for name, value in WEIGHTS.items():
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    for name, (attribute, value) in changed.items():
        node = next(each for each in proto.graph.node if each.name == name)
        kept = [each for each in node.attribute if each.name != attribute]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(attribute, value)])
    onnx.save(proto, path)
    return str(path)


@pytest.fixture
def pair(tmp_path):
    """Two models that differ in two nodes, their inputs, and a report about them."""
    reference = _model(tmp_path / "reference.onnx")
    candidate = _model(tmp_path / "candidate.onnx", leak=("alpha", 0.2), bend=("alpha", 0.5))
    inputs = {"x": _drawn(2, 3, 6, 6)}
    report = isomorph.check(reference, candidate, inputs=inputs, in_process=True)
    path = tmp_path / "report.json"
    path.write_text(as_json(report))
    return reference, candidate, inputs, path


@pytest.fixture
def searches(monkeypatch):
    """Counts the searches for faults."""
    made, locate = [], targets.locate

    def counted(*sides):
        made.append(sides)
        return locate(*sides)

    monkeypatch.setattr(targets, "locate", counted)
    return made


def _edits(repair):
    return [each.patch.edits for each in repair.applied]


def test_the_report_names_every_fault_with_its_counterpart(pair):
    found = [each for each in read_report(pair[3]).findings if each.faults]
    assert {each.node for each in found} == {"leak", "bend"}
    records = sorted((record for each in found for record in each.faults), key=lambda r: r.place)
    assert [(r.tensor, r.counterpart, r.count) for r in records] == [("b", "b", 2), ("y", "y", 2)]
    assert all(each.causes[0] == "attribute" for each in found)


def test_the_same_repair_is_found_without_a_search(pair, searches):
    reference, candidate, inputs, report = pair
    whole = isomorph.fix(reference, candidate, inputs=inputs, in_process=True)
    assert len(searches) == 1
    known = isomorph.fix(report, inputs=inputs, in_process=True)
    assert len(searches) == 1
    assert whole.repaired
    assert known.repaired
    assert _edits(known) == _edits(whole)
    assert known.proof.before == whole.proof.before
    assert known.proof.after == whole.proof.after


def test_another_model_is_searched_again(pair, searches, tmp_path):
    _, _, inputs, report = pair
    _model(tmp_path / "candidate.onnx", norm=("epsilon", 0.5))
    repair = isomorph.fix(report, inputs=inputs, in_process=True)
    assert len(searches) == 1
    assert repair.repaired
    assert [each.finding.node for each in repair.applied] == ["norm"]


def test_other_inputs_are_searched_again(pair, searches):
    repair = isomorph.fix(pair[3], inputs={"x": 2 * pair[2]["x"]}, in_process=True)
    assert len(searches) == 1
    assert repair.repaired


def test_a_report_about_one_model_is_refused(pair, tmp_path):
    report = isomorph.check(pair[0], inputs=pair[2], in_process=True)
    path = tmp_path / "alone.json"
    path.write_text(as_json(report))
    with pytest.raises(UsageError, match="the report names no two files of models"):
        isomorph.fix(path, inputs=pair[2], in_process=True)


def test_a_tensor_that_the_models_do_not_have_is_searched_for(pair, searches, tmp_path):
    _, _, inputs, path = pair
    path.write_text(path.read_text().replace('"counterpart": "b"', '"counterpart": "gone"'))
    repair = isomorph.fix(path, output=tmp_path / "f.onnx", inputs=inputs, in_process=True)
    assert repair.repaired
    assert searches
