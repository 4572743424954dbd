import json

import ml_dtypes
import numpy as np
import pytest
import safetensors

from isomorph.core.errors import RefusedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Trace
from isomorph.store import traces
from isomorph.store.trace_index import write_index
from isomorph.store.traces import is_trace, read, save

HERE = Environment(runtime="onnxruntime", version="1", threads=2, settings={"a": "b"})

TENSORS = {
    "plain": np.arange(6, dtype=np.float32).reshape(2, 3),
    "../../../tmp/pwn": np.array([1, 2], np.int64),
    "CON": np.array(True),
    "con": np.array(False),
    "x" * 5000: np.zeros((0, 4), np.float16),
    "__metadata__": np.array([1.5], np.float64),
    "bfloat16": np.array([1.5, np.nan], ml_dtypes.bfloat16),
    "float8": np.array([1.5, 2.0, 3.0], ml_dtypes.float8_e4m3fn),
    "float8 fnuz": np.array([1.5], ml_dtypes.float8_e5m2fnuz),
    "int4": np.array([[-8, 7]], ml_dtypes.int4),
    "complex128": np.array([1 + 2j]),
    "not contiguous": np.arange(12.0).reshape(3, 4).T,
}


def saved(tmp_path, tensors=TENSORS):
    save(Trace(environment=HERE, tensors=tensors), tmp_path / "trace")
    return tmp_path / "trace"


def damage(folder):
    with pytest.raises(UnreadableModelError) as raised:
        dict(read(folder).tensors)
    assert raised.value.code == "TRACE_DAMAGED"
    return raised.value


def shard_of(folder):
    (shard,) = folder.glob("*.safetensors")
    return shard


def test_a_trace_comes_back_as_it_was(tmp_path):
    trace = read(saved(tmp_path))
    assert trace.environment == HERE
    assert set(trace.tensors) == set(TENSORS)
    for name, array in TENSORS.items():
        back = trace.tensors[name]
        assert back.dtype == array.dtype, name
        assert back.shape == array.shape, name
        assert back.tobytes() == array.tobytes(), name


def test_strings_sequences_and_absent_values(tmp_path):
    words = np.array([["a", "\ud800"], ["", "ü"]], dtype=object)
    values = {"words": words, "list": [np.ones(1), None], "none": None}
    back = read(saved(tmp_path, values)).tensors
    assert back["words"].tolist() == words.tolist()
    assert back["list[0]"].tolist() == [1.0]
    assert back["list[1]"] is None
    assert back["none"] is None
    assert len(back) == 4


def test_names_are_never_paths_and_stand_inside(tmp_path):
    folder = saved(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"trace"}
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".safetensors"]
    with safetensors.safe_open(shard_of(folder), "np") as inside:
        assert {"../../../tmp/pwn", "CON", "con"} < set(inside.keys())


def test_large_traces_are_split_and_read_late(tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "SHARD_BYTES", 1000)
    many = {f"t{i}": np.full(100, i, np.float64) for i in range(10)}
    folder = saved(tmp_path, many)
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) == 5
    tensors = read(folder).tensors
    assert not tensors._shards, "no shard is read before it is needed"
    assert tensors["t3"][0] == 3
    assert len(tensors._shards) == 1
    assert not tensors["t3"].flags.owndata


def test_every_kind_of_damage_is_noticed(tmp_path):
    folder = saved(tmp_path)
    shard, manifest = shard_of(folder), folder / "manifest.json"
    good, intact = shard.read_bytes(), manifest.read_bytes()

    flipped = bytearray(good)
    flipped[-1] ^= 1
    shard.write_bytes(flipped)
    assert "digest" in damage(folder).why

    shard.write_bytes(good[:-1])
    assert "shard" in damage(folder).why
    shard.unlink()
    assert "shard" in damage(folder).why
    shard.write_bytes(good)

    manifest.write_bytes(intact.replace(b"onnxruntime", b"onnxruntimf"))
    assert "manifest.json does not match" in damage(folder).why
    manifest.write_bytes(intact[:-5])
    assert "cannot be read" in damage(folder).why
    manifest.write_bytes(intact)
    assert len(dict(read(folder).tensors)) == len(TENSORS)


def test_a_manifest_cannot_lead_out_of_its_folder(tmp_path):
    folder = saved(tmp_path, {"x": np.ones(2)})
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tensors"][0]["shard"] = "../" + shard_of(folder).name
    body = {name: manifest[name] for name in ("environment", "tensors")}
    write_index(folder / "manifest.json", traces.SCHEMA, body)
    assert "no name of a shard" in damage(folder).why


def test_another_version_is_not_damage(tmp_path):
    folder = saved(tmp_path)
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("isomorph.trace/1", "isomorph.trace/9"))
    with pytest.raises(UnreadableModelError) as raised:
        read(folder)
    assert raised.value.code == "TRACE_TOO_NEW"


def test_an_interrupted_save_leaves_nothing(tmp_path):
    class Failing(dict):
        def items(self):
            yield "x", np.ones(2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(Trace(environment=HERE, tensors=Failing()), tmp_path / "trace")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_and_no_link_followed(tmp_path):
    folder = saved(tmp_path)
    assert is_trace(folder)
    assert not is_trace(tmp_path)
    with pytest.raises(UsageError) as raised:
        saved(tmp_path)
    assert raised.value.code == "OUTPUT_EXISTS"
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError) as raised:
        save(Trace(environment=HERE, tensors={}), tmp_path / "link")
    assert raised.value.code == "OUTPUT_IS_LINK"
    (tmp_path / "empty").mkdir()
    save(Trace(environment=HERE, tensors={}), tmp_path / "empty")
    assert is_trace(tmp_path / "empty")


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["tensors"][0].update(shape=[[2]]),
        lambda body: body["tensors"][0].update(shape="2"),
        lambda body: body["tensors"][0].update(dtype=["float64"]),
        lambda body: body["tensors"][0].update(key=[]),
        lambda body: body["tensors"][0].update(dtype="string", words=["a", "b", "c"]),
        lambda body: body["tensors"][0].update(dtype="string", words=None),
        lambda body: body["tensors"][0].pop("digest"),
        lambda body: body["tensors"][0].pop("dtype"),
        lambda body: body.update(tensors=[3]),
        lambda body: body["environment"].update(threads="two"),
        lambda body: body["environment"].update(settings=[1]),
    ],
)
def test_an_entry_that_does_not_fit_is_damage_whatever_the_digest_says(tmp_path, change):
    folder = saved(tmp_path, {"x": np.ones(2)})
    manifest = json.loads((folder / "manifest.json").read_text())
    body = {name: manifest[name] for name in ("environment", "tensors")}
    change(body)
    write_index(folder / "manifest.json", traces.SCHEMA, body)
    damage(folder)
