import pytest

from isomorph.api.options import Limits, PairOptions, RuntimeOptions
from isomorph.api.repeat import RepairCall, check_request, repeated_call
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import Binding, BoundBy, ModelSummary, Report
from isomorph.core.request import CheckRequest
from isomorph.reporters.json import as_json
from isomorph.store.reports import read_report


def _report(**fields):
    models = tuple(
        ModelSummary(
            role=role, location=f"{role}.onnx", framework="onnx", digest="", nodes=1, constants=0
        )
        for role in ("reference", "candidate")
    )
    return Report(
        command="check",
        verdict=Verdict.DIVERGENT,
        reason="",
        seed=0,
        draws=8,
        false_alarm=0.01,
        models=models,
        **fields,
    )


def _call(path, options=None):
    return RepairCall(
        reference=path,
        candidate=None,
        options=options or PairOptions(),
        inputs=None,
        dims={},
        budgets={},
        seed=None,
    )


@pytest.mark.parametrize("name", ["m.onnx", "folder", "package.module:factory"])
def test_one_model_alone_lacks_its_candidate(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(b"\x08\x0a\xfd")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="CANDIDATE is missing") as caught:
        repeated_call(_call(name))
    assert caught.value.fix == f"isomorph fix {name} CANDIDATE, or isomorph fix REPORT.json"


def test_one_object_alone_lacks_its_candidate():
    with pytest.raises(UsageError, match="CANDIDATE is missing") as caught:
        repeated_call(_call(object()))
    assert caught.value.fix == "isomorph fix REFERENCE CANDIDATE, or isomorph fix REPORT.json"


@pytest.mark.parametrize(
    ("text", "code"), [(None, "FILE_NOT_FOUND"), (' {"schema": 7}', "REPORT_UNREADABLE")]
)
def test_a_report_that_cannot_be_read_is_no_model(tmp_path, text, code):
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match="report") as caught:
        repeated_call(_call(path))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("runtime", "field", "read"),
    [
        (RuntimeOptions(settings={"threads": 1}), "settings", {"threads": "1"}),
        (RuntimeOptions(limits=Limits(memory=4e9)), "memory", 4_000_000_000),
        (RuntimeOptions(limits=Limits(timeout=5)), "timeout", 5.0),
    ],
)
def test_numbers_of_a_call_from_python_are_read_back(tmp_path, runtime, field, read):
    request = check_request(PairOptions(runtime=runtime), dims={}, budgets={})
    path = tmp_path / "report.json"
    path.write_text(as_json(_report(request=request)), encoding="utf-8")
    assert getattr(read_report(path).request, field) == read
    again = repeated_call(_call(path, PairOptions(runtime=runtime)))
    assert (again.same_question, again.notes) == (True, ())


def test_a_removed_working_directory_does_not_end_a_check(tmp_path, monkeypatch):
    folder = tmp_path / "removed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert check_request(PairOptions(), dims={}, budgets={}) == CheckRequest(directory="")


def test_the_stated_bindings_of_a_report_without_a_request_are_repeated(tmp_path):
    stated = Binding(reference="x", candidate="z", how=BoundBy.USER)
    found = Binding(reference="y", candidate="y", how=BoundBy.NAME)
    path = tmp_path / "report.json"
    report = _report(input_bindings=(stated, found), output_bindings=(found,))
    path.write_text(as_json(report), encoding="utf-8")
    again = repeated_call(_call(path))
    assert (again.options.bind_inputs, again.options.bind_outputs) == ({"x": "z"}, {})
    assert again.same_question
    other = repeated_call(_call(path, PairOptions(bind_inputs={"x": "w"})))
    assert other.options.bind_inputs == {"x": "w"}
    assert not other.same_question
