"""Weights that stay in their archive, and the checksums that their bytes are compared with."""

from __future__ import annotations

import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from isomorph.core.trace import Environment
from isomorph.frameworks.pytorch import mapped_weights
from isomorph.frameworks.pytorch import session as torch_session
from isomorph.frameworks.pytorch.archive import refuse_unsafe_export
from isomorph.frameworks.pytorch.describe import describe
from isomorph.frameworks.pytorch.load import load_file
from isomorph.frameworks.pytorch.mapped_weights import LARGE
from isomorph.frameworks.pytorch.pt2_reader import read_static


class TwoWeights(torch.nn.Module):
    """Two weights that are large enough not to be held, and a small one."""

    def __init__(self):
        super().__init__()
        rows = LARGE // 4 // 64
        self.first = torch.nn.Linear(64, rows, bias=False)
        self.last = torch.nn.Linear(rows, 64)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archives") / "two.pt2"
    torch.manual_seed(0)
    torch.export.save(torch.export.export(TwoWeights().eval(), (torch.randn(2, 64),)), path)
    return path


def large_members(path):
    with zipfile.ZipFile(path) as opened:
        return [each for each in opened.infolist() if each.file_size >= LARGE]


def test_weights_are_those_of_the_archive(archive):
    program, _ = read_static(archive)
    torch.manual_seed(0)
    expected = TwoWeights().state_dict()
    assert len(large_members(archive)) == 2
    found = {program.origins[name]: value for name, value in program.constants.items()}
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_documents_that_were_read_before_are_not_read_again(archive, monkeypatch):
    documents = refuse_unsafe_export(archive)
    expected, _ = read_static(archive)
    monkeypatch.setattr(mapped_weights, "read_json", None)
    program, _ = read_static(archive, documents)
    assert program.steps == expected.steps
    assert program.file_offsets == expected.file_offsets


@pytest.mark.parametrize("which", [0, 1])
def test_a_flipped_bit_of_a_large_weight_is_noticed(archive, tmp_path, which):
    member = large_members(archive)[which]
    content = bytearray(archive.read_bytes())
    # Behind the local header, its names and its padding.
    content[member.header_offset + member.file_size // 2] ^= 1
    damaged = tmp_path / "damaged.pt2"
    damaged.write_bytes(content)
    assert read_static(archive) is not None
    assert read_static(damaged) is None


def test_an_archive_that_is_cut_off_is_left_to_torch(archive, tmp_path):
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(archive.read_bytes()[: LARGE + LARGE // 2])
    assert read_static(cut) is None


def resident(path):
    """Bytes of a file's mappings that are in memory."""
    total, within = 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            within = words[-1] == str(path)
        elif within and words[0] == "Rss:":
            total += int(words[1]) << 10
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what is resident")
def test_weights_do_not_stay_in_memory_when_they_were_compared_and_described(archive, tmp_path):
    own = shutil.copy(archive, tmp_path)
    program, weights = read_static(Path(own))
    assert resident(own) < LARGE
    for value in program.constants.values():
        value.sum()
    assert resident(own) >= 2 * LARGE
    describe(program, weights.release)
    assert resident(own) < LARGE


@pytest.mark.parametrize(("held", "releases"), [(1, 3), (1 << 40, 1)])
def test_a_run_releases_weights_that_it_has_used(archive, held, releases, monkeypatch):
    monkeypatch.setattr(torch_session, "_HELD", held)
    model, _ = load_file(archive, {}, steps_suffice=True)
    calls = []
    model = replace(model, release=lambda: calls.append(True))
    opened = torch_session.TorchSession(
        model,
        Environment(runtime="pytorch"),
        torch_session.RunMode(device=torch.device("cpu"), threads=1),
    )
    x = np.random.default_rng(0).normal(size=(2, 64)).astype(np.float32)
    (name,) = model.program.outputs
    found = opened.run({model.program.inputs[0]: x}, [name])[name]
    torch.manual_seed(0)
    with torch.no_grad():
        np.testing.assert_array_equal(found, TwoWeights()(torch.from_numpy(x)).numpy())
    # After each step that reads a large weight, and at the end.
    assert len(calls) == releases


@pytest.mark.parametrize(
    ("slow", "memory", "stays"), [(1, None, True), (1, 1 << 40, True), (1, 1 << 10, False),
                                  (1 << 40, None, False)]
)  # fmt: skip
def test_a_file_that_is_slow_to_read_stays_mapped_where_memory_is_ample(
    archive, slow, memory, stays, monkeypatch
):
    _, weights = read_static(archive)
    released = []
    monkeypatch.setattr(mapped_weights, "_SLOW_TO_READ", slow)
    monkeypatch.setattr(mapped_weights, "memory_limit", lambda: memory)
    monkeypatch.setattr(weights, "_release", lambda *part: released.append(part))
    weights.release()
    assert bool(released) != stays
