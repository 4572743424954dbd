"""A plain archive is read as torch itself reads it, or left to torch."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.trace import Environment
from isomorph.frameworks.pytorch.export_reader import read_exported
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.pt2_reader import read_static
from isomorph.frameworks.pytorch.runtime import PytorchRuntime


class Varied(nn.Module):
    """Lists, tuples, nothing, infinities, types, tied weights and buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.head.weight
        self.register_buffer("table", torch.arange(12.0).reshape(4, 3))
        self.register_buffer("fresh", torch.tensor([1, 2]), persistent=False)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        y = torch.nn.functional.pad(y, (1, 1, 1, 1), value=-torch.inf)
        y, places = torch.nn.functional.max_pool2d(y, 2, return_indices=True)
        left, right = y.mean((2, 3)).chunk(2, dim=1)
        z = self.tied(self.head(torch.cat([right, left], 1)))
        z = torch.where(z > 0, z, self.fresh.sum().to(torch.float32))
        return z @ self.table, places.to(torch.int32)


class Branching(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


class Writing(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1
        return y


class Learning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


def saved(path, module, example, **more):
    torch.manual_seed(0)
    exported = torch.export.export(module, (example,), **more)
    torch.export.save(exported, path)
    return path


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    path = tmp_path_factory.mktemp("varied") / "varied.pt2"
    return saved(path, Varied().eval(), torch.randn(2, 3, 8, 8))


def test_a_plain_program_is_what_torch_reads(varied):
    ours, _ = read_static(varied)
    exported = read_exported(torch.export.load(varied))
    assert [repr(step) for step in ours.steps] == [repr(step) for step in exported.steps]
    for what in ("inputs", "outputs", "specs", "origins", "fixed"):
        assert getattr(ours, what) == getattr(exported, what), what
    assert list(ours.constants) == list(exported.constants)
    for name, value in ours.constants.items():
        assert torch.equal(value, exported.constants[name])
        assert value.stride() == exported.constants[name].stride()


@pytest.mark.parametrize(
    ("module", "more"),
    [
        (Branching(), {}),
        (Writing(), {}),
        (Learning().train(), {}),
        (nn.Linear(3, 3), {"dynamic_shapes": ({0: torch.export.Dim("n", max=9)},)}),
    ],
    ids=["branches", "writes", "trains", "sizes that vary"],
)
def test_anything_else_is_left_to_torch(tmp_path, module, more):
    path = saved(tmp_path / "other.pt2", module, torch.randn(4, 3), **more)
    assert read_static(path) is None
    assert PytorchFramework().load(str(path), {}).graph.nodes


def test_damaged_weights_are_left_to_torch(varied, tmp_path):
    with zipfile.ZipFile(varied) as archive:
        place = archive.getinfo(next(n for n in archive.namelist() if n.endswith("/weight_0")))
        data = bytearray(varied.read_bytes())
    start = place.header_offset + 30 + len(place.filename)
    at = data.index(_bytes_of(varied, place.filename), start)
    data[at + 5] ^= 0xFF
    spoilt = tmp_path / "spoilt.pt2"
    spoilt.write_bytes(data)
    assert read_static(spoilt) is None


def _bytes_of(path, member):
    with zipfile.ZipFile(path) as archive:
        return archive.read(member)


def session_of(path):
    model = PytorchFramework().load(str(path), {})
    runtime = PytorchRuntime()
    return model, runtime.open(
        model, Environment(runtime="pytorch", settings=dict(runtime.settings))
    )


def test_the_run_is_bit_for_bit_that_of_the_exported_module(varied):
    model, session = session_of(varied)
    (name,) = (spec.name for spec in model.graph.inputs)
    fetch = [spec.name for spec in model.graph.outputs]
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    got = session.run({name: x}, fetch)
    expected = torch.export.load(varied).module()(torch.from_numpy(x))
    for cand, ref in zip(got.values(), expected, strict=True):
        np.testing.assert_array_equal(cand, ref.detach().numpy())


def test_a_size_it_was_not_exported_for_is_refused(varied):
    model, session = session_of(varied)
    (name,) = (spec.name for spec in model.graph.inputs)
    fetch = [spec.name for spec in model.graph.outputs]
    with pytest.raises(RuntimeFailedError) as refused:
        session.run({name: np.zeros((1, 3, 8, 8), np.float32)}, fetch)
    assert "exported for [2, 3, 8, 8]" in str(refused.value.why)


def test_a_copy_is_saved_by_torch_itself(varied, tmp_path):
    framework = PytorchFramework()
    framework.save(framework.load(str(varied), {}), tmp_path / "copy.pt2")
    again, _ = read_static(tmp_path / "copy.pt2")
    assert again.outputs == read_static(varied)[0].outputs


def test_large_weights_stay_in_the_file_and_can_be_let_go(tmp_path):
    path = saved(tmp_path / "large.pt2", nn.Linear(600, 600), torch.randn(1, 600))
    program, weights = read_static(path)
    large = next(value for value in program.constants.values() if value.dim() == 2)
    before = large.clone()
    weights.release()
    assert torch.equal(large, before)
    data = bytearray(path.read_bytes())
    at = data.index(before.numpy().tobytes()[:64])
    data[at : at + 4] = np.float32(7.0).tobytes()
    weights.release()
    path.write_bytes(data)
    assert float(large[0, 0]) == 7.0


def test_reading_brings_no_compiler_along(varied):
    code = (
        "import sys; from isomorph.frameworks.pytorch.framework import PytorchFramework as F; "
        f"F().load({str(varied)!r}, {{}}); "
        "sys.exit('torch._dynamo' in sys.modules or 'sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
