"""The report of a contradiction is saved, wherever something can be written."""

from dataclasses import replace

from isomorph.cli.contradiction import save_contradiction
from isomorph.store.reports import read_report
from report_fixtures import PROOF, divergence, over_samples, part, profile, quantized, report  # noqa: F401


def test_it_is_written_to_the_working_directory(report, tmp_path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    found = replace(report, proof=replace(PROOF, contradicted=("logits",)))
    path = save_contradiction(found)
    assert path == tmp_path / "isomorph-contradiction-5.json"
    assert read_report(path).proof == found.proof
    shown = capsys.readouterr().err
    assert shown.startswith("error[PROOF_CONTRADICTED] ")
    assert str(path) in shown


def test_or_among_temporary_files(report, tmp_path, monkeypatch):  # noqa: F811
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(kept))
    gone = tmp_path / "gone"
    monkeypatch.setattr("pathlib.Path.cwd", lambda: gone)
    found = replace(report, proof=replace(PROOF, contradicted=("logits",)))
    assert save_contradiction(found) == kept / "isomorph-contradiction-5.json"


def test_nothing_is_written_without_one(report, tmp_path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert save_contradiction(report) is None
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""
