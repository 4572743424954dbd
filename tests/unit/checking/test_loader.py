"""Workers start ahead for what will be used."""

from types import SimpleNamespace

import pytest

from isomorph.checking import loader as module
from isomorph.checking.loader import Loader


@pytest.mark.parametrize(
    ("runs", "shared", "started"),
    [(True, False, ["oracle", "runtime"]), (True, True, ["oracle"]), (False, False, ["oracle"])],
)
def test_a_runtime_that_is_not_used_gets_no_worker(tmp_path, monkeypatch, runs, shared, started):
    file, warmed = tmp_path / "model.bin", []
    file.write_bytes(b"1234")
    host = SimpleNamespace(warm=warmed.extend, shares_worker=lambda _: shared)
    framework = SimpleNamespace(oracle="oracle", runtime="runtime")
    monkeypatch.setattr(module, "identify", lambda _: "toy")
    monkeypatch.setattr(module, "registry", SimpleNamespace(framework=lambda _: framework))
    Loader(host=host).warm(str(file), runs=runs)
    assert warmed == started
