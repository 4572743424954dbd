"""Folders that transformers writes: a decoder with its caches, and folders that are none."""

import importlib.util
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


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_configuration_that_is_no_json_is_an_error_of_the_file(tmp_path, text):
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(UnreadableModelError) as refused:
        exported_folder(tmp_path)
    assert (refused.value.code, refused.value.where) == ("NOT_A_MODEL", "config.json")


@pytest.fixture(scope="module")
def tiny_gguf(folder):
    """The decoder of the folder, its products quantized to eight bits in blocks of 32."""
    gguf = pytest.importorskip("gguf")
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=32, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        rms_norm_eps=1e-5, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    path = folder.parent / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(16)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(32)
    names = {
        "embed_tokens": "token_embd", "lm_head": "output", "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm", "gate_proj": "ffn_gate", "up_proj": "ffn_up",
        "down_proj": "ffn_down", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v",
        "o_proj": "attn_output",
    }  # fmt: skip
    for name, value in model.state_dict().items():
        words = name.split(".")
        own = "output_norm" if name == "model.norm.weight" else names[words[-2]]
        layer = f"blk.{words[words.index('layers') + 1]}." if "layers" in words else ""
        array = value.numpy()
        if words[-2] in {"q_proj", "k_proj"}:  # the file holds the halves of each head interleaved
            heads = 4 if words[-2] == "q_proj" else 2
            array = array.reshape(heads, 2, 8, 64).swapaxes(1, 2).reshape(array.shape)
        if array.ndim == 1:
            writer.add_tensor(f"{layer}{own}.weight", np.ascontiguousarray(array))
            continue
        packed = gguf.quants.quantize(np.ascontiguousarray(array), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(f"{layer}{own}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, model


def test_a_gguf_file_is_the_decoder_with_the_numbers_that_its_weights_stand_for(tiny_gguf):
    path, original = tiny_gguf
    framework = PytorchFramework()
    assert framework.sniff(path, path.read_bytes()[:16])
    model = framework.load(path, {})
    assert any("GGUF" in note for note in model.notes)
    names = [spec.name for spec in model.graph.inputs]
    tokens = torch.tensor([[3, 4, 5, 6]])
    empty = torch.zeros(1, 2, 0, 16)
    values = [tokens, torch.ones_like(tokens), torch.arange(4)[None], *[empty] * 4]
    outputs = model.native.complete().call(dict(zip(names, values, strict=True)))
    found = next(iter(outputs.values())).detach().numpy()
    with torch.no_grad():
        expected = original(tokens).logits.numpy()
    # Eight bits lose a percent; weights of another order or layer would lose everything.
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
    assert not np.array_equal(found, expected)


@pytest.mark.parametrize("cut", [4, 24, 200])
def test_a_damaged_gguf_file_is_an_error_that_names_it(tiny_gguf, tmp_path, cut):
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(tiny_gguf[0].read_bytes()[:cut])
    with pytest.raises(UnreadableModelError) as refused:
        PytorchFramework().load(damaged, {})
    assert refused.value.code == "NOT_A_MODEL"


@pytest.mark.parametrize(("packing", "package"), [("gptq", "optimum"), ("awq", "gptqmodel")])
def test_packed_weights_name_the_packing_and_the_package_that_unpacks_it(
    folder, tmp_path, packing, package
):
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed, so transformers unpacks the weights")
    from safetensors.torch import load_file, save_file

    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": packing, "bits": 4, "group_size": 16}
    (tmp_path / "config.json").write_text(json.dumps(config))
    stored = {}
    for file in folder.glob("*.safetensors"):
        stored.update(load_file(file))
    for name in [name for name in stored if "_proj" in name]:
        rows, columns = stored.pop(name).shape
        shape = (columns // 8, rows) if packing == "gptq" else (columns, rows // 8)
        stored[name.replace("weight", "qweight")] = torch.zeros(shape, dtype=torch.int32)
        stored[name.replace("weight", "scales")] = torch.ones(columns // 16, rows)
    save_file(stored, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UnreadableModelError) as refused:
        exported_folder(tmp_path)
    assert f"packed by {packing}" in str(refused.value)
    assert package in str(refused.value.why)
    assert "float model" in str(refused.value.fix)
