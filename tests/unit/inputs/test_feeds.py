import numpy as np
import pytest

from isomorph.checking.loader import Loader
from isomorph.core.errors import UsageError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding
from isomorph.inputs.feeds import carried_over, fitted, from_given


def spec(name, dtype="float32", shape=(2, 3)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def test_a_single_array_needs_no_name():
    x = np.zeros((2, 3), np.float32)
    assert from_given([spec("x")], {"arr_0": x})["x"] is x


def test_an_only_array_under_another_name_is_noted(tmp_path):
    np.savez(tmp_path / "a.npz", pixels=np.zeros((2, 3), np.float32))
    specs = [spec("x")]
    sample = Loader(host=None, inputs=tmp_path / "a.npz").sample(specs)
    assert sample.origin == "file a.npz, its 'pixels' for input 'x'"
    assert Loader(host=None, inputs=(np.zeros((2, 3)),)).sample(specs).origin == "given"


def test_arrays_by_place():
    feeds = from_given([spec("x"), spec("y")], {"0": np.zeros((2, 3)), "1": np.ones((2, 3))})
    assert feeds["y"].dtype == np.float32
    assert feeds["y"].sum() == 6


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"x": np.zeros((2, 3)), "imge": np.zeros((2, 3))}, "UNKNOWN_INPUT"),
        ({"x": np.zeros((2, 3))}, "MISSING_INPUT"),
        ({"x": np.zeros((2, 4)), "image": np.zeros((2, 3))}, "INPUT_SHAPE"),
        ({"x": np.zeros((2, 3), complex), "image": np.zeros((2, 3))}, "INPUT_TYPE"),
    ],
)
def test_what_does_not_fit_is_an_error(given, code):
    with pytest.raises(UsageError) as caught:
        from_given([spec("x"), spec("image")], given)
    assert caught.value.code == code


def test_one_axis_name_is_one_size():
    specs = [spec("x", shape=("n", 3)), spec("y", shape=("n", 3))]
    with pytest.raises(UsageError) as caught:
        from_given(specs, {"x": np.zeros((2, 3)), "y": np.zeros((4, 3))})
    assert caught.value.code == "UNBOUND_DIM"


def test_integers_are_narrowed_only_when_they_fit():
    small, large = np.array([[1, 2, 3]] * 2), np.array([[1, 2, 2**40]] * 2)
    assert fitted(spec("i", "int32"), small).dtype == np.int32
    with pytest.raises(UsageError):
        fitted(spec("i", "int32"), large)


def test_feeds_are_carried_over_under_the_other_name_and_type():
    bound = [Binding(reference="ids", candidate="input_1", how="stated by the user")]
    feeds = carried_over({"ids": np.ones((2, 3), np.int64)}, bound, [spec("input_1", "int32")])
    assert feeds["input_1"].dtype == np.int32
