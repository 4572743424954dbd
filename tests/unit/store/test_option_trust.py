"""A file of options that names code to be run needs trust."""

import pytest

from isomorph import registry
from isomorph.core.errors import RefusedError
from isomorph.store.option_trust import require_trust


def test_a_file_that_names_an_interpreter_needs_trust():
    options = {"runtime": {"candidate": "onnxruntime@./planted"}}
    with pytest.raises(RefusedError) as caught:
        require_trust(options, file="isomorph.toml", where="pairs.a")
    assert caught.value.code == "INTERPRETER_NEEDS_TRUST"
    assert caught.value.exit_code == 4
    require_trust({**options, "trust": True}, file="isomorph.toml", where="pairs.a")
    require_trust({"runtime": "openvino"}, file="isomorph.toml", where="pairs.a")


@pytest.mark.parametrize("key", ["custom_ops", "candidate.custom_ops"])
def test_a_file_that_names_a_library_needs_trust(key):
    options = {"settings": {key: "./planted.so", "optimization": "none"}}
    with pytest.raises(RefusedError) as caught:
        require_trust(options, file="sweep.toml", where="m@e")
    assert caught.value.code == "LIBRARY_NEEDS_TRUST"
    assert caught.value.exit_code == 4
    require_trust({**options, "trust": True}, file="sweep.toml", where="m@e")
    require_trust({"settings": {"custom_ops": ""}}, file="sweep.toml", where="m@e")


def test_the_settings_that_load_a_library_are_those_that_the_runtimes_declare(monkeypatch):
    class Accelerated:
        name, extra, worker = "accelerated", None, "accelerated"
        settings, plain = {"plugin": "", "custom_ops": ""}, {}
        library_settings = frozenset({"plugin"})

    monkeypatch.setattr(registry, "names", lambda kind: ("accelerated", "broken"))
    loaded = {"accelerated": Accelerated()}
    monkeypatch.setattr(registry, "runtime", loaded.__getitem__)
    with pytest.raises(RefusedError) as caught:
        require_trust({"settings": {"plugin": "a.so"}}, file="sweep.toml", where="m@e")
    assert "--set plugin=PATH" in (caught.value.fix or "")
    require_trust({"settings": {"custom_ops": "a.so"}}, file="sweep.toml", where="m@e")
