"""Each thing comes after those that it depends on; a circle is shown."""

import pytest

from isomorph.core.ordering import CircleError, dependencies_first


def test_what_is_needed_comes_first_and_the_rest_stays_in_its_order():
    before = {"d": ["b", "c"], "c": ["a"]}
    found = dependencies_first("dxabc", lambda key: before.get(key, ()))
    assert list(found) == ["b", "a", "c", "d", "x"]


def test_a_long_chain_needs_no_recursion():
    count = 20_000
    found = list(dependencies_first(range(count), lambda key: [key + 1] if key < count - 1 else []))
    assert found == list(reversed(range(count)))


def test_a_circle_is_shown_from_its_beginning_to_its_beginning():
    before = {"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}
    with pytest.raises(CircleError) as caught:
        list(dependencies_first("x", lambda key: before[key]))
    circle = caught.value.circle
    assert circle[0] == circle[-1]
    assert set(circle) == {"a", "b", "c"}


def test_what_reads_itself_is_a_circle():
    with pytest.raises(CircleError):
        list(dependencies_first("a", lambda key: [key]))
