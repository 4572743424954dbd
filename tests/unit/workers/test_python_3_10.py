"""What Python 3.10 lacks does as in Python 3.11, which is not changed."""

import enum
import hashlib
import io

from isomorph.core.errors import IsomorphError
from isomorph.workers import python_3_10
from isomorph.workers.python_3_10 import complete_standard_library


def test_a_later_python_stays_as_it_is():
    before = enum.StrEnum, hashlib.file_digest, vars(IsomorphError).get("add_note")
    complete_standard_library()
    assert (enum.StrEnum, hashlib.file_digest, vars(IsomorphError).get("add_note")) == before


def test_an_enum_of_words_is_its_words():
    class Color(python_3_10._StrEnum):
        RED = "red"
        BLUE = enum.auto()

    assert f"{Color.RED}" == str(Color.RED) == "red"
    assert Color.BLUE == "blue"


def test_a_file_has_the_same_digest():
    data = bytes(range(256)) * 9000
    found = python_3_10._file_digest(io.BytesIO(data), "sha256")
    assert found.hexdigest() == hashlib.sha256(data).hexdigest()


def test_notes_are_kept_in_their_order():
    error = ValueError("x")
    python_3_10._add_note(error, "first")
    python_3_10._add_note(error, "second")
    assert error.__notes__ == ["first", "second"]
