"""A proof evaluates; it runs no model."""

from contextlib import contextmanager
from types import SimpleNamespace

from isomorph import api


def test_a_proof_opens_no_runtime(monkeypatch):
    asked = []

    @contextmanager
    def opened(*_, runs=True, **__):
        asked.append(runs)
        yield SimpleNamespace(reference=None, candidate=None, given=None, config=None)

    # The package has the function under the name of the module.
    monkeypatch.setitem(api.prove.__globals__, "open_models", opened)
    monkeypatch.setattr("isomorph.checking.prove.prove_pair", lambda *_, **__: "proof")
    assert api.prove("a.onnx", "b.onnx") == "proof"
    assert asked == [False]
