"""A damaged archive is an error of the file, wherever in the reading it shows."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from isomorph.core.errors import IsomorphError  # noqa: E402
from isomorph.frameworks.pytorch.framework import PytorchFramework  # noqa: E402
from isomorph.store.format_detection import identify  # noqa: E402


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()).eval()
    example = torch.zeros(2, 4)
    torch.export.save(torch.export.export(module, (example,)), folder / "exported.pt2")
    torch.jit.trace(module, example).save(str(folder / "traced.pt"))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _spoilt(data: bytes, seed: int) -> bytes:
    """Six bytes anywhere, or three in the directory at the end, which holds the names."""
    draw = random.Random(seed)
    end = range(len(data) - 3000, len(data))
    places = draw.sample(range(len(data)), 6) if seed % 2 else draw.sample(end, 3)
    spoilt = bytearray(data)
    for place in places:
        spoilt[place] ^= draw.randrange(1, 256)
    return bytes(spoilt)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["exported.pt2", "traced.pt"])
def test_spoilt_bytes_are_an_error_of_the_file_or_harmless(archives, tmp_path, name):
    codes = []
    for seed in range(40):
        path = tmp_path / f"{seed}-{name}"
        path.write_bytes(_spoilt(archives[name], seed))
        try:
            identify(path)
            PytorchFramework().load(str(path), {})
        except IsomorphError as error:
            codes.append(error.exit_code)
    assert set(codes) <= {2, 4}
    assert len(codes) > 20, "most damage must be noticed"


def test_a_name_in_the_directory_that_is_no_text_is_damage(archives, tmp_path):
    """The directory's names are marked as UTF-8; a byte of one of them is not."""
    data = bytearray(archives["exported.pt2"])
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 9] |= 0x08  # the flag: this name is UTF-8
    data[entry + 46 + 7] = 0x99
    path = tmp_path / "m.pt2"
    path.write_bytes(bytes(data))
    with pytest.raises(IsomorphError) as caught:
        identify(path)
    assert caught.value.code == "MODEL_TRUNCATED"
