"""Every option of a sweep file is known, and each command takes some of them."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Verb
from isomorph.store.sweep_options import OF_ENVIRONMENT, OF_MODEL, OPTIONS, require_taken


def test_an_environment_has_no_paths():
    assert set(OF_ENVIRONMENT) < set(OF_MODEL) < set(OPTIONS)
    assert "to" in OF_ENVIRONMENT
    assert "data" not in OF_ENVIRONMENT


@pytest.mark.parametrize("verb", Verb)
def test_what_is_not_taken_is_named(verb):
    require_taken({"trust": True, "to": "onnx"} if verb is Verb.CONVERT else {"trust": True},
                  verb, file="f", where="w")  # fmt: skip
    with pytest.raises(UsageError, match=f"{verb} takes no option 'environments_'"):
        require_taken({"environments_": 1}, verb, file="f", where="w")
