"""A process of isomorph's own looks for unused objects less often, and still does."""

import gc

import pytest

from isomorph.core.collector import collect_seldom, skip_final_collection


@pytest.fixture
def _restored():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_restored")
def test_fewer_rounds_and_no_end_of_them():
    gc.set_threshold(700, 10, 10)
    collect_seldom()
    newest, middle, oldest = gc.get_threshold()
    assert newest > 700
    assert middle > 0
    assert oldest > 0
    assert gc.isenabled()


def test_objects_are_not_looked_at_before_the_end():
    kept = [[number] for number in range(1000)]
    before = gc.get_freeze_count()
    skip_final_collection()
    assert gc.get_freeze_count() >= before + len(kept)
