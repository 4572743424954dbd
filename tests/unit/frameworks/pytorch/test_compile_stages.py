"""torch.compile up to one of its stages, and without single operators."""

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.execution import OPTIMIZERS_THAT_RAN
from isomorph.frameworks.pytorch import compile_stages
from isomorph.frameworks.pytorch.runtime import PytorchRuntime
from pytorch_networks import load, outputs, runtime


class Growth(nn.Module):
    """torch's compiler writes the first function as exp(x) - 1 on the CPU."""

    def forward(self, x):
        return torch.expm1(x) * 1e6 + nn.functional.gelu(x)


SMALL = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32) * np.float32(1e-6)


@pytest.fixture(scope="module")
def growth():
    return load(Growth(), torch.from_numpy(SMALL))


def ran(model, **settings):
    (name,) = outputs(model)
    return runtime(model, **settings).run({"x": SMALL}, [name])[name]


@pytest.mark.parametrize("stage", [each for each in compile_stages.BACKENDS if each != "yes"])
def test_a_stage_before_the_last_runs_the_usual_kernels(growth, stage):
    np.testing.assert_allclose(ran(growth, compile=stage), ran(growth), rtol=1e-6)


def test_an_operator_that_is_left_out_is_run_by_the_usual_kernel(growth):
    from torch._inductor.lowering import lowerings

    before = dict(lowerings)
    found = ran(growth, compile="yes", uncompiled_operators="aten.expm1.default, aten.gelu.default")
    np.testing.assert_allclose(found, ran(growth), rtol=1e-6)
    assert lowerings == before, "the table is as it was"


def test_the_operators_that_can_be_left_out_are_listed_where_asked_for(growth):
    session = runtime(growth, compile="yes", name_optimizers="yes")
    facts = session.environment.facts
    assert facts[OPTIMIZERS_THAT_RAN].split(", ") == [
        "aten.add.Tensor", "aten.expm1.default", "aten.gelu.default", "aten.mul.Tensor",
    ]  # fmt: skip
    assert [each.settings for each in PytorchRuntime().optimizer_switches(facts)][1] == {
        "uncompiled_operators": "aten.expm1.default"
    }
    assert OPTIMIZERS_THAT_RAN not in runtime(growth, compile="yes").environment.facts
    assert OPTIMIZERS_THAT_RAN not in runtime(growth, name_optimizers="yes").environment.facts
