"""A reader and an editor agree on each value: ``fits`` and the JSON Schema."""

import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.store.projects import OPTIONS
from isomorph.store.value_kinds import budget, either, flag, list_of, number, table_of, text, whole

PLAIN = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-2, 2).filter(lambda value: not value.is_integer()),
    st.sampled_from(["", "word"]),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(value=VALUES, name=st.sampled_from(sorted(OPTIONS)))
def test_the_reader_takes_exactly_what_the_schema_allows(value, name):
    kind = OPTIONS[name]
    assert kind.fits(value) == jsonschema.Draft7Validator(kind.schema).is_valid(value)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (text("t"), "", 1),
        (whole("w"), 1, True),
        (number("n"), 0.5, False),
        (flag(), False, 0),
        (budget("b"), 0, -1e-9),
        (budget("b"), 1e-3, math.nan),
        (table_of(whole("w"), "t"), {"a": 1}, {"a": "1"}),
        (list_of(text("t"), "l"), ["a"], ["a", 1]),
        (either(text("t"), list_of(text("t"), "l"), "e"), ["a"], [1]),
    ],
)
def test_what_fits(kind, good, bad):
    assert kind.fits(good)
    assert not kind.fits(bad)
