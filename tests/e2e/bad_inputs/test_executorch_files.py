"""A, C and D for ExecuTorch: places and sizes that no file has, spoilt delegates, lost weights."""

import struct
from pathlib import Path

import pytest

from executorch_programs import exported, lowered

SEEDS = Path(__file__).parents[3] / "benchmarks" / "fuzzing" / "seeds" / "executorch"
PORTABLE, DELEGATED = ((SEEDS / f"{name}.pte").read_bytes() for name in ("portable", "xnnpack"))
DELEGATE = DELEGATED.index(b"XH00")


def changed(data, place, *, by):
    return data[:place] + by + data[place + len(by) :]


@pytest.mark.parametrize(
    "data",
    [
        changed(PORTABLE, 0, by=struct.pack("<I", 0xFFFFFFF0)),
        changed(PORTABLE, 0, by=struct.pack("<I", 0)),
        changed(DELEGATED, 16, by=struct.pack("<Q", 1 << 62)),
        changed(DELEGATED, 24, by=struct.pack("<Q", 1 << 62)),
        changed(DELEGATED, DELEGATE, by=b"XXXX"),
        changed(DELEGATED, DELEGATE + 6, by=struct.pack("<I", 0x7FFFFFFF)),
        changed(DELEGATED, DELEGATE, by=bytes(200)),
        DELEGATED[:-1],
    ],
    ids=["root far away", "root nowhere", "long flatbuffer", "segments behind the end",
         "no delegate", "its graph behind the end", "its graph overwritten", "one byte missing"],
)  # fmt: skip
def test_a06_places_that_the_file_does_not_have(isomorph, tmp_path, data):
    (tmp_path / "m.pte").write_bytes(data)
    isomorph("inspect", "m.pte").refused("MODEL_TRUNCATED", file="m.pte")


def test_a06_constants_of_a_delegate_behind_its_end_end_in_an_answer(isomorph, tmp_path):
    pytest.importorskip("executorch")
    data = changed(DELEGATED, DELEGATE + 18, by=struct.pack("<Q", 1 << 62))
    (tmp_path / "m.pte").write_bytes(data)
    isomorph("check", "m.pte", "--quick").refused("RUNTIME_REFUSED", file="m.pte")


def resized(data, old, new):
    sizes = struct.pack("<ii", *old)
    assert data.count(sizes)
    return data.replace(sizes, struct.pack("<ii", *new))


@pytest.mark.parametrize("sizes", [(2**31 - 1, 2**31 - 1), (-2, 12345)])
def test_b08_sizes_that_no_memory_holds(isomorph, tmp_path, sizes):
    (tmp_path / "m.pte").write_bytes(resized(program_of_one_relu(), (2, 12345), sizes))
    isomorph("inspect", "m.pte").refused("BAD_DIMS", file="m.pte", mentions=("download",))


def test_c01_sizes_beyond_this_machine_are_stated_before_anything_is_drawn(isomorph, tmp_path):
    data = resized(program_of_one_relu(), (2, 12345), (2**30, 2**10))
    (tmp_path / "m.pte").write_bytes(data)
    isomorph("check", "m.pte").refused(
        "OUT_OF_MEMORY", exit_code=3, mentions=("8,192 GiB", "'args_0'")
    )


def program_of_one_relu():
    pytest.importorskip("executorch")
    import torch

    return lowered(exported(torch.nn.ReLU(), (torch.ones(2, 12345),)))


def test_d05_weights_in_a_file_of_their_own_are_named(isomorph, tmp_path):
    pytest.importorskip("executorch")
    import torch

    program = exported(torch.nn.Linear(4, 3), (torch.ones(2, 4),))
    (tmp_path / "m.pte").write_bytes(lowered(program, weights_elsewhere=True))
    isomorph("inspect", "m.pte").refused(
        "UNSUPPORTED_FORMAT", file="m.pte", mentions=(".ptd", "external_constants=False")
    )
