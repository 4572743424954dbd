"""A constant that cannot be read is None, whatever the reason."""

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.sessions.constants import read_constant


class Session:
    """Returns one constant and refuses every other name."""

    def run(self, feeds, fetch):
        if fetch != ["w"]:
            raise RuntimeFailedError("NO_TENSOR", f"no tensor {fetch[0]!r}")
        return {"w": [1.0, 2.0]}


def unopened():
    raise RuntimeFailedError("NOT_OPENED", "the model cannot be opened")


def test_a_stored_value_is_an_array():
    value = read_constant(Session, "w")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [1.0, 2.0]


def test_what_cannot_be_read_is_none():
    assert read_constant(Session, "other") is None
    assert read_constant(unopened, "w") is None
