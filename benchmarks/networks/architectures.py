"""Small models with random weights of many architectures that `transformers` has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from networks.torch_networks import quiet

WORDS, TOKENS = 99, 12
TEXT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": WORDS, "max_position_embeddings": 64, "use_cache": False,
}  # fmt: skip
IMAGE: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
STAGES: dict[str, Any] = {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}
WINDOWS: dict[str, Any] = {
    "image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 4],
    "window_size": 4,
}  # fmt: skip
AUDIO: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "conv_dim": [16, 16, 16], "conv_stride": [5, 4, 4], "conv_kernel": [10, 4, 4],
    "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "vocab_size": 32,
}  # fmt: skip
BOTH: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    "vocab_size": WORDS, "max_position_embeddings": 64, "use_cache": False,
}  # fmt: skip
GROUPED: dict[str, Any] = {"num_key_value_heads": 2}
JOINED: dict[str, Any] = {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 64}
RELATIVE: dict[str, Any] = {
    "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4, "vocab_size": WORDS,
    "use_cache": False,
}  # fmt: skip
LISTENING: dict[str, Any] = {
    "max_source_positions": 20, "max_target_positions": 16, "num_mel_bins": 16, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A class of ``transformers`` with the sizes of a small model of it."""

    model: str
    config: str
    inputs: str
    sizes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class, without what all of them have in their names."""
        return self.config.removesuffix("Config")


def _of(inputs: str, common: Mapping[str, Any], **heads: Mapping[str, Any]) -> list[Architecture]:
    """Architectures by the name of their class, with the sizes that they do not have in common."""
    found = []
    for model, own in heads.items():
        stem = re.sub(r"(For[A-Z].*|MTModel|Model)$", "", model)
        config = own.get("config", f"{stem}Config")
        sizes = {key: value for key, value in {**common, **own}.items() if key != "config"}
        found.append(Architecture(model=model, config=config, inputs=inputs, sizes=sizes))
    return found


ARCHITECTURES = (
    *_of(
        "text", TEXT, AlbertModel={"embedding_size": 16}, BertModel={}, ConvBertModel={},
        DebertaModel={}, DebertaV2Model={}, ElectraModel={}, FNetModel={}, IBertModel={},
        MPNetModel={}, MegatronBertModel={}, RobertaModel={}, RoFormerModel={},
        ModernBertModel={"pad_token_id": 0, "local_attention": 4},
        EsmModel={"pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary"},
    ),
    *_of(
        "text", TEXT, BioGptForCausalLM={}, BloomForCausalLM={"n_head": 4, "n_layer": 2},
        CohereForCausalLM={}, FalconForCausalLM={}, GPTNeoXForCausalLM={}, GraniteForCausalLM={},
        GPTJForCausalLM={**JOINED, "rotary_dim": 4}, LlamaForCausalLM=GROUPED,
        CodeGenForCausalLM={**JOINED, "rotary_dim": 4}, MambaForCausalLM={},
        Gemma2ForCausalLM={**GROUPED, "head_dim": 8, "sliding_window": 6},
        Gemma3ForCausalLM={
            **GROUPED, "config": "Gemma3TextConfig", "head_dim": 8, "sliding_window": 6
        },
        GlmForCausalLM={**GROUPED, "head_dim": 8, "pad_token_id": 0},
        MistralForCausalLM={**GROUPED, "sliding_window": 6}, NemotronForCausalLM=GROUPED,
        Mamba2ForCausalLM={
            "num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 2, "chunk_size": 4
        },
        OPTForCausalLM={"ffn_dim": 64, "word_embed_proj_dim": 32}, Olmo2ForCausalLM={},
        Phi3ForCausalLM={**GROUPED, "pad_token_id": 0}, PhiForCausalLM={},
        Qwen3ForCausalLM={**GROUPED, "head_dim": 8}, Starcoder2ForCausalLM={},
    ),
    *_of(
        "image", IMAGE, BeitModel={"use_relative_position_bias": True}, CLIPVisionModel={},
        DeiTModel={}, Dinov2Model={}, DINOv3ViTModel={}, IJepaModel={}, SiglipVisionModel={},
        ViTMSNModel={}, ViTForImageClassification={},
    ),
    *_of(
        "image", {}, SwinModel=WINDOWS, Swinv2Model=WINDOWS, ConvNextV2Model=STAGES,
        FocalNetModel={"image_size": 32, "embed_dim": 8, "depths": [1, 1]},
        PoolFormerModel=STAGES, ResNetModel={**STAGES, "embedding_size": 8},
        RegNetModel={**STAGES, "embedding_size": 8, "groups_width": 8},
    ),
    *_of(
        "picture", {}, MobileNetV2Model={},
        SegformerForSemanticSegmentation={
            **STAGES, "decoder_hidden_size": 16, "num_attention_heads": [1, 2, 2, 4]
        },
        LevitModel={
            "image_size": 64, "hidden_sizes": [16, 32, 48], "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1], "key_dim": [8, 8, 8],
        },
    ),
    *_of(
        "audio", AUDIO, HubertForCTC={}, SEWModel={}, Wav2Vec2ForCTC={}, WavLMModel={},
        Wav2Vec2ConformerModel={},
    ),
    *_of(
        "both", BOTH, BartForConditionalGeneration={}, M2M100ForConditionalGeneration={},
        MarianMTModel={"pad_token_id": 0}, PegasusForConditionalGeneration={},
    ),
    *_of("both", RELATIVE, T5ForConditionalGeneration={},
         LongT5ForConditionalGeneration={"local_radius": 4}),
    *_of("speech", {**BOTH, **LISTENING}, WhisperForConditionalGeneration={}),
)  # fmt: skip


class _Named(torch.nn.Module):
    """A model that takes its inputs by name and returns its first tensors."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return at most three tensors: those of every layer are not asked for."""
        given = dict(zip(self.names, arrays, strict=True))
        found = self.model(**given, return_dict=True).values()
        return tuple(each for each in found if isinstance(each, torch.Tensor))[:3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The program, its ONNX export, the inputs, and which input of one is which of the other."""

    reference: Path
    candidate: Path
    inputs: Path
    bindings: Mapping[str, str]


def exported(architecture: Architecture, folder: Path) -> Exported:
    """Write a model by ``torch.export`` and by ``torch.onnx.export``."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = getattr(transformers, architecture.config)(**architecture.sizes)
    model = getattr(transformers, architecture.model)(config).eval()
    _draw_statistics(model)
    given = _inputs()[architecture.inputs]
    named, arrays = _Named(model, tuple(given)).eval(), tuple(given.values())
    stem = folder / architecture.name
    files = stem.with_suffix(".pt2"), stem.with_suffix(".onnx"), stem.with_suffix(".npz")
    with quiet(), torch.no_grad():
        program = torch.export.export(named, arrays, strict=False)
        torch.export.save(program, files[0])
        torch.onnx.export(
            named, arrays, files[1], dynamo=True, verbose=False, input_names=list(given),
            external_data=False,
        )  # fmt: skip
    places = program.graph_signature.user_inputs
    values = {str(place): array.numpy() for place, array in zip(places, arrays, strict=True)}
    np.savez(files[2], allow_pickle=False, **values)
    bindings = dict(zip(values, given, strict=True))
    return Exported(reference=files[0], candidate=files[1], inputs=files[2], bindings=bindings)


def _draw_statistics(model: torch.nn.Module) -> None:
    """Draw the statistics of normalizations, which are the identity as they are made."""
    random = torch.Generator().manual_seed(1)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(0.0, 0.2, generator=random)
        elif name.endswith("running_var"):
            buffer.uniform_(0.5, 1.5, generator=random)


def _inputs() -> dict[str, dict[str, torch.Tensor]]:
    """The inputs by kind: of two texts, the second is padded."""
    random = torch.Generator().manual_seed(2)
    words = torch.randint(3, WORDS, (2, TOKENS), generator=random)
    mask = torch.ones_like(words)
    mask[1, TOKENS - 3 :] = 0
    text = {"input_ids": words, "attention_mask": mask}
    first = {"decoder_input_ids": words[:, :6]}
    return {
        "text": text,
        "both": {**text, **first},
        "image": {"pixel_values": torch.randn(1, 3, 32, 32, generator=random)},
        "picture": {"pixel_values": torch.randn(1, 3, 64, 64, generator=random)},
        "audio": {"input_values": torch.randn(1, 3200, generator=random)},
        "speech": {
            "input_features": torch.randn(1, 16, 40, generator=random),
            "decoder_input_ids": words[:1, :6],
        },
    }
