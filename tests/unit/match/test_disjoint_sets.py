"""Members are in one set exactly where a chain of joins connects them."""

from hypothesis import given
from hypothesis import strategies as st

from isomorph.match.disjoint_sets import DisjointSets

PLACES = st.integers(0, 12)


@given(st.lists(st.lists(PLACES, min_size=1, max_size=4), max_size=12))
def test_a_set_is_what_joins_connect(joins):
    sets = DisjointSets()
    connected = {place: {place} for place in range(13)}
    for members in joins:
        sets.join(members)
        union = set().union(*(connected[each] for each in members))
        for each in union:
            connected[each] = union
    for place, together in connected.items():
        assert {each for each in connected if sets.root(each) == sets.root(place)} == together


def test_the_first_of_a_join_represents_the_others():
    sets = DisjointSets()
    sets.join(["a", "b", "c"])
    sets.join(["d", "c"])
    assert {sets.root(each) for each in "abcd"} == {"d"}
