"""An input of another shape is given in the arrangement that fits, or that the outputs prove."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding
from isomorph.measure.input_layout import CandidateInputs, choose_layouts, findings, rearranged

PAIR = (Binding(reference="x", candidate="inp", how="position"),)


def weighted(array):
    """A function that depends on where each element stands."""
    return (array * np.arange(1, array.size + 1).reshape(array.shape)).sum(axis=-1)


class Session:
    def __init__(self, function):
        self.function, self.fed = function, []

    def run(self, feeds, fetch):
        self.fed.append(feeds["inp"])
        return dict.fromkeys(fetch, self.function(feeds["inp"]))


def chosen(array, shape, function=None, *, stated=None, outputs=None):
    if outputs is None:
        outputs = {"y": weighted(array)}
    reference = SimpleNamespace(feeds={"x": array}, oracle_outputs=lambda: outputs)
    session = Session(function or (lambda given: np.zeros(1)))
    candidate = CandidateInputs(
        inputs=(TensorSpec(name="inp", dtype="float32", shape=shape),),
        outputs=("y",),
        oracle=lambda: session,
    )
    return choose_layouts(reference, candidate, PAIR, stated or {}), session


def drawn(*shape):
    return np.random.default_rng(shape).normal(size=shape)


def test_an_input_that_fits_needs_no_layout():
    for shape in ((2, 3, 4), (2, None, 4), ("batch", 3, 4), None):
        found, session = chosen(drawn(2, 3, 4), shape)
        assert (found, session.fed) == ((), [])


def test_the_only_arrangement_that_fits_is_taken_without_a_run():
    (layout,), session = chosen(drawn(2, 3, 4), (2, 4, 3))
    assert layout.rearrangement.permutation == (0, 2, 1)
    assert session.fed == []


def test_of_several_the_one_is_taken_under_which_the_outputs_agree():
    array = drawn(1, 3, 5, 5)
    for order in ((0, 2, 3, 1), (0, 3, 2, 1)):
        back = np.argsort(order)
        (layout,), _ = chosen(array, (1, 5, 5, 3), lambda x, back=back: weighted(x.transpose(back)))
        assert layout.rearrangement.permutation == order
        fed = rearranged({"inp": array}, [layout])["inp"]
        assert np.array_equal(fed, array.transpose(order))


def test_where_none_agrees_the_channel_axis_alone_is_moved():
    (layout,), session = chosen(drawn(1, 3, 5, 5), (1, 5, 5, 3), lambda x: np.zeros(15))
    assert layout.rearrangement.permutation == (0, 2, 3, 1)
    assert len(session.fed) == 2


def test_where_the_reference_has_no_oracle_nothing_is_run():
    failed = RuntimeFailedError("X", "broken")
    (layout,), session = chosen(drawn(1, 3, 5, 5), (1, 5, 5, 3), outputs=failed)
    assert layout.rearrangement.permutation == (0, 2, 3, 1)
    assert session.fed == []


def test_where_none_agrees_and_no_convention_decides_the_user_is_asked():
    with pytest.raises(UsageError) as caught:
        chosen(drawn(2, 3, 3, 4), (4, 3, 3, 2), lambda x: np.zeros(18))
    assert caught.value.code == "AMBIGUOUS_LAYOUT"


def test_what_the_user_states_is_taken_even_if_the_shape_fits():
    (layout,), session = chosen(drawn(3, 3), (3, 3), stated={"inp": (1, 0)})
    assert layout.rearrangement.permutation == (1, 0)
    assert session.fed == []


@pytest.mark.parametrize("axes", [(0,), (0, 0), (1, 2)])
def test_an_order_that_is_none_is_refused(axes):
    with pytest.raises(UsageError) as caught:
        chosen(drawn(2, 3), (3, 2), stated={"inp": axes})
    assert caught.value.code == "BAD_LAYOUT"


def test_an_array_that_fits_in_no_arrangement_is_refused():
    with pytest.raises(UsageError) as caught:
        chosen(drawn(2, 3), (2, 5))
    assert caught.value.code == "INPUT_SHAPE"


def test_each_layout_is_a_finding_that_changes_no_number():
    layouts, _ = chosen(drawn(2, 3, 4), (2, 4, 3))
    (finding,) = findings(layouts)
    assert (finding.code, finding.effect, finding.tensors) == ("INPUT_LAYOUT", "none", ("inp",))
