import numpy as np

from isomorph.frameworks.pytorch.export import Example


def test_numbers_are_places_and_an_array_without_a_name_is_the_first():
    alone = Example.named({"": np.zeros(2)})
    assert (len(alone.args), alone.kwargs) == (1, {})
    several = Example.named({"10": np.full(1, 10.0), "9": np.full(1, 9.0), "mask": np.ones(3)})
    assert [float(each[0]) for each in several.args] == [9.0, 10.0]
    assert set(several.kwargs) == {"mask"}
