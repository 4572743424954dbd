"""Weights that stay in their archive, and the checksums that their bytes are compared with."""

from __future__ import annotations

import zipfile

import pytest
import torch

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
