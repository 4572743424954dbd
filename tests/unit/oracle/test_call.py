"""What a kernel knows of its node, with another noise."""

from dataclasses import fields

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.noise import NO_NOISE


def test_another_noise_changes_nothing_else():
    """Every field has a value of its own, so that one which is forgotten shows."""
    call = Call(
        op="Gemm", domain="ai.onnx", version=13, attributes={"alpha": 2.0}, outputs=3,
        dtype="float16", noise=NO_NOISE, constant=True, input_dtypes=("float16", None),
        site=("graph", 7), table=np.arange(3), shared=lambda make: make(),
    )  # fmt: skip
    source = object()
    changed = call.with_noise(source)
    assert changed.noise is source
    assert all(
        getattr(changed, each.name) is getattr(call, each.name)
        for each in fields(Call)
        if each.name != "noise"
    )
    plain = Call(op="Gemm")
    assert all(
        getattr(call, each.name) is not getattr(plain, each.name)
        for each in fields(Call)
        if each.name not in {"op", "noise"}
    ), "a new field needs a value here"
