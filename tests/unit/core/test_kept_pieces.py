"""The pieces used last stay open, and no more of them."""

from isomorph.core.kept_pieces import KeptPieces


def test_the_piece_used_longest_ago_is_closed():
    opened = []

    def piece(key):
        return kept.get(key, lambda: opened.append(key) or key.upper())

    kept = KeptPieces(2)
    assert [piece(key) for key in "abab"] == ["A", "B", "A", "B"]
    piece("a")
    piece("c")  # "b" was used before "a"
    assert opened == ["a", "b", "c"]
    assert len(kept) == 2
    piece("a")
    piece("b")
    assert opened == ["a", "b", "c", "b"]


def test_a_piece_is_closed_on_demand():
    kept = KeptPieces(2)
    kept.get("a", list)
    kept.release("a")
    assert len(kept) == 0
    kept.get("a", list)
    kept.clear()
    assert len(kept) == 0
