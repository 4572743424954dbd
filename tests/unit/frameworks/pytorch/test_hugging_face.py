"""Folders that transformers writes: a decoder with its caches, and folders that are none."""

import json
import warnings

import numpy as np
import pytest
import torch

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.hugging_face import exported_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("transformers")
    from transformers import LlamaConfig, LlamaForCausalLM

    made = tmp_path_factory.mktemp("llama")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=31, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LlamaForCausalLM(config).save_pretrained(made, max_shard_size=4000)
    assert len(list(made.glob("*.safetensors"))) > 1
    return made


def test_a_decoder_takes_and_returns_its_caches_at_any_length(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PytorchFramework().load(folder, {})
        from transformers import LlamaForCausalLM

        expected = LlamaForCausalLM.from_pretrained(folder).eval()
    names = [spec.name for spec in model.graph.inputs]
    assert names[:3] == ["input_ids", "attention_mask", "position_ids"]
    assert len(names) == 5
    tokens = torch.tensor([[3, 4, 5, 6]])
    empty = torch.zeros(1, 1, 0, 8)
    values = [tokens, torch.ones_like(tokens), torch.arange(4)[None], empty, empty]
    outputs = model.native.complete().call(dict(zip(names, values, strict=True)))
    found = [each.detach().numpy() for each in outputs.values()]
    with torch.no_grad():
        logits = expected(tokens).logits.numpy()
    assert np.allclose(found[0], logits, atol=1e-5)
    assert [each.shape for each in found[1:]] == [(1, 1, 4, 8)] * 2


@pytest.mark.parametrize(
    "config", [{}, {"architectures": []}, {"architectures": ["Own"], "auto_map": {"a": "b.C"}}]
)
def test_a_folder_that_names_no_model_is_an_error(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnreadableModelError) as refused:
        exported_folder(tmp_path)
    assert refused.value.code == "NOT_A_MODEL"
    assert "factory" in refused.value.fix
