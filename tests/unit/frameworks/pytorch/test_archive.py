"""Sizes in an archive are arithmetic and no code, and each of its documents is read once."""

import json
import zipfile

import pytest

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.frameworks.pytorch.archive import (
    _is_arithmetic,
    _strings,
    is_damaged,
    operators_of,
    read_programs,
    refuse_pickle,
    refuse_unsafe_export,
)


def program(*targets):
    nodes = [{"target": target, "name": f"n{place}"} for place, target in enumerate(targets)]
    return {"graph_module": {"graph": {"nodes": nodes}}}


def archive(folder, members):
    path = folder / "model.pt2"
    with zipfile.ZipFile(path, "w") as opened:
        for name, content in members.items():
            opened.writestr(f"model/{name}", json.dumps(content))
    return path


def test_strings_are_found_under_their_keys_however_deep():
    document = {"a": "x", "b": ["y", {"c": ["z", 1, None], "d": [["w"]]}], "e": {"f": {"g": "v"}}}
    found = set(_strings(document))
    assert found == {("a", "x"), ("b", "y"), ("c", "z"), ("d", "w"), ("g", "v")}
    assert set(_strings("alone")) == {("", "alone")}


def test_the_documents_of_an_archive_are_those_that_were_looked_through(tmp_path):
    own = program("torch.ops.aten.relu.default", "_operator.add")
    config = {"config": {}}
    path = archive(tmp_path, {"models/model.json": own, "data/weights/config.json": config})
    documents = refuse_unsafe_export(path)
    assert documents == {
        "model/models/model.json": own,
        "model/data/weights/config.json": config,
    }
    assert list(operators_of(documents)) == [("aten.relu.default", "n0")]
    assert read_programs(path) == {"model/models/model.json": own}


@pytest.mark.parametrize("place", ["models/model.json", "extra/anything.json"])
def test_a_target_that_is_no_operator_is_refused_in_every_document(tmp_path, place):
    path = archive(tmp_path, {place: program("torch.ops.aten.relu.default", "torch.hub.load")})
    with pytest.raises(RefusedError, match="refused") as caught:
        refuse_unsafe_export(path)
    assert caught.value.code == "UNSAFE_TARGET"


@pytest.mark.parametrize(
    "text",
    ["s0 + 2*s1", "Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
     "FloorDiv(s0, 2)", "Max(1, s0 - 3)", "s0 < 12"],
)  # fmt: skip
def test_sizes_are_arithmetic(text):
    assert _is_arithmetic(text)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true')", "open('x')", "s0.__class__", "[x for x in (1,)]",
     "lambda: 0", "Symbol('a b; c')", "lambdify(s0, s0)", "s0 +"],
)  # fmt: skip
def test_everything_else_is_not(text):
    assert not _is_arithmetic(text)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_packed_member_that_does_not_unpack_is_damage(tmp_path, method):
    path, name = tmp_path / "model.pt", "model/data.pkl"
    with zipfile.ZipFile(path, "w", method) as opened:
        opened.writestr(name, bytes(range(256)) * 20)
    assert not is_damaged(path)
    data = bytearray(path.read_bytes())
    start = data.index(name.encode()) + len(name) + 12
    data[start : start + 24] = b"\xff" * 24
    path.write_bytes(data)
    assert is_damaged(path)
    with pytest.raises(UnreadableModelError) as caught:
        refuse_pickle(path, "pickle")
    assert caught.value.code == "MODEL_TRUNCATED"


def test_an_archive_in_an_archive_that_cannot_be_looked_into_is_not_skipped(tmp_path):
    """torch's own reader of zips might find the pickle that Python's does not."""
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("model/data/sample_inputs/model.pt", b"PK\x03\x04 and no more")
    with pytest.raises(zipfile.BadZipFile):
        refuse_unsafe_export(path)
