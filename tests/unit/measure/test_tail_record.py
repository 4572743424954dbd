"""Tails that explain nothing are not drawn for further samples."""

from types import SimpleNamespace

from isomorph.measure.tail_record import TailRecord


def test_tails_are_needless_once_an_error_was_beyond_them_unless_they_are_drawn():
    record = TailRecord()
    fresh, drawn = (SimpleNamespace(drawn=draws) for draws in (0, 3))
    assert not record.needless([fresh, fresh])
    record.note_beyond()
    assert record.needless([fresh, fresh])
    assert record.needless([drawn, fresh])
    assert not record.needless([drawn, drawn])
