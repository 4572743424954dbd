"""Folders with several models, and names of the Hugging Face hub."""

import json
from pathlib import Path

import onnx
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.store.format_detection import model_path
from isomorph.store.model_folders import hub_folder, is_hub_name
from network import network


@pytest.fixture
def folder(tmp_path):
    for name in ("decoder_model.onnx", "decoder_with_past_model.onnx", "encoder_model.onnx"):
        onnx.save(network(), tmp_path / name)
    return tmp_path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def downloaded(cache, name="models--some--model"):
    """A model as huggingface_hub keeps it: links to files that are named by their content."""
    snapshot = cache / name / "snapshots" / "0a1b"
    for part in (snapshot, cache / name / "refs", cache / name / "blobs"):
        part.mkdir(parents=True)
    onnx.save(network(), cache / name / "blobs" / "c0ffee")
    (snapshot / "model.onnx").symlink_to("../../blobs/c0ffee")
    (cache / name / "refs" / "main").write_text("0a1b\n")
    return snapshot


def test_the_decoder_of_a_genai_folder_is_its_model(folder):
    config = {"model": {"decoder": {"filename": "decoder_model.onnx"}}}
    (folder / "genai_config.json").write_text(json.dumps(config))
    assert model_path(folder).name == "decoder_model.onnx"


def test_the_merged_decoder_of_optimum_is_its_model(folder):
    onnx.save(network(), folder / "decoder_model_merged.onnx")
    assert model_path(folder).name == "decoder_model_merged.onnx"


@pytest.mark.parametrize(
    "config",
    ["", "[" * 10_000, "3", '{"model": 3}', '{"model": {"decoder": {"filename": "../a.onnx"}}}'],
)
def test_a_configuration_that_names_none_of_them_leaves_several(folder, config):
    (folder / "genai_config.json").write_text(config)
    with pytest.raises(UnreadableModelError) as refused:
        model_path(folder)
    assert refused.value.code == "SEVERAL_MODELS"


def test_a_model_of_the_hub_is_read_from_the_local_cache(cache):
    snapshot = downloaded(cache)
    assert hub_folder(Path("some/model")) == snapshot
    assert model_path(Path("some/model")) == snapshot / "model.onnx"


def test_one_that_is_not_there_comes_with_the_command_that_downloads_it(cache):
    with pytest.raises(UnreadableModelError) as refused:
        model_path(Path("some/model"))
    assert refused.value.code == "FILE_NOT_FOUND"
    assert "hf download some/model" in refused.value.fix


def test_a_revision_leads_nowhere_else(cache):
    downloaded(cache)
    (cache / "models--some--model" / "refs" / "main").write_text("../../elsewhere")
    with pytest.raises(UnreadableModelError):
        hub_folder(Path("some/model"))


def test_a_folder_of_that_name_comes_first(cache):
    downloaded(cache)
    (cache.parent / "some" / "model").mkdir(parents=True)
    assert model_path(Path("some/model")) == Path("some/model")


@pytest.mark.parametrize(
    ("word", "may_be"),
    [("some/model", True), ("some/Model-1.5B", True), ("model", False), ("a/b/c", False),
     ("/some/model", False), ("some/model.onnx", False), ("../model", False)],
)  # fmt: skip
def test_which_words_may_name_one(word, may_be):
    assert is_hub_name(Path(word), (".onnx",)) is may_be


def test_of_two_decoders_of_optimum_the_one_with_caches_decodes(folder):
    assert model_path(folder, decodes=True).name == "decoder_with_past_model.onnx"
    with pytest.raises(UnreadableModelError) as caught:
        model_path(folder)
    assert "--decode 16 takes decoder_with_past_model.onnx" in caught.value.fix
    onnx.save(network(), folder / "decoder_model_merged.onnx")
    assert model_path(folder, decodes=True).name == "decoder_model_merged.onnx"
