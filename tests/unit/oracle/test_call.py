"""What a kernel knows of its node, with other noise."""

from dataclasses import fields, replace

from isomorph.oracle.call import Call
from isomorph.oracle.noise import Rounding


def test_only_the_noise_is_another():
    own = {
        "op": "Conv", "domain": "d", "version": 7, "attributes": {"a": 1}, "outputs": 2,
        "dtype": "float16", "constant": True, "input_dtypes": ("int8",), "site": ("here", 1),
    }  # fmt: skip
    assert own.keys() | {"noise"} == {each.name for each in fields(Call)}
    call, noise = Call(**own), Rounding(1)
    assert call.with_noise(noise) == replace(call, noise=noise)
    assert call.with_noise(noise) != call
