"""JSON of others, nested as deeply as they like."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.untrusted_json import DEEPEST, read_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.fixture
def raised_limit():
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST * 5)
    yield
    sys.setrecursionlimit(usual)


@given(_VALUES)
def test_it_reads_what_json_reads(value):
    text = json.dumps(value)
    assert read_json(text) == value
    for encoding in ("utf-8", "utf-16", "utf-32"):
        assert read_json(text.encode(encoding)) == value


@pytest.mark.parametrize("opening", ["[", '{"a": ', '[{"[": '])
def test_brackets_enough_do_not_end_a_process_whose_limit_was_lifted(opening):
    program = (
        "import sys; sys.setrecursionlimit(2**31 - 1)\n"
        "from isomorph.core.untrusted_json import read_json\n"
        f"try: read_json({opening!r} * 200_000)\n"
        "except RecursionError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr


@pytest.mark.usefixtures("raised_limit")
def test_brackets_beside_each_other_and_in_strings_are_not_depth():
    value = {"many": [[]] * DEEPEST * 2, "text": "[{" * DEEPEST * 2 + '"\\"[' * DEEPEST}
    assert read_json(json.dumps(value)) == value
    with pytest.raises(RecursionError):
        read_json("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))
    assert read_json("[" * DEEPEST + "]" * DEEPEST)


@pytest.mark.usefixtures("raised_limit")
@pytest.mark.parametrize("text", ["", "{", '"', '"\\', b"\xff\xfe\xfd", "]" * 9000, "[" * 1999])
def test_no_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        read_json(text)
