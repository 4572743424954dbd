"""Operators without a definition are refused by their names and nodes."""

import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.oracle.unsupported import refuse_undefined


def test_every_operator_is_named_with_its_nodes():
    with pytest.raises(UnreadableModelError) as caught:
        refuse_undefined(
            {"Frob": ["a", "b"], "Nicate": ["c"]}, file="m", why="none has a kernel", fix="leave"
        )
    assert caught.value.code == "UNSUPPORTED_OP"
    assert caught.value.where == "Frob at a, b; Nicate at c"
    assert caught.value.why == "none has a kernel"


def test_nothing_missing_is_nothing_refused():
    refuse_undefined({}, file=None, why="", fix="")
