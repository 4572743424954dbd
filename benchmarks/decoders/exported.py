"""A decoder out of a GGUF file: the exported program, its ONNX export, and narrower forms of that.

The model may be cut to its first layers and its first words: the weights that stay are the trained
ones.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PROMPT = "Why is the sky blue?"
TOKENS = 10
"""Of a prompt for a model that is cut to its first words, whose tokens spell no text."""
NARROW = ("float16", "int8", "int4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """One decoder in all of its forms."""

    folder: Path
    layers: int
    words: int

    @property
    def reference(self) -> Path:
        """The exported program."""
        return self.folder / "reference.pt2"

    @property
    def prompt(self) -> Path:
        """The tokens of the prompt."""
        return self.folder / "prompt.npy"

    def form(self, name: str) -> Path:
        """An ONNX file: ``export``, or one of ``NARROW``."""
        return self.folder / f"{name}.onnx"


def written(gguf: Path, folder: Path, *, layers: int | None, words: int | None) -> Files:
    """The forms of a model, written where they are missing."""
    print(f"… {gguf.name}", flush=True)
    model = _read(gguf, layers=layers, words=words)
    return _written(model, folder, lambda: _prompt(gguf, words))


def written_random(folder: Path) -> Files:
    """The forms of a small model of the same kind with random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
        initializer_range=0.2, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    return _written(model, folder, lambda: _drawn_prompt(config.vocab_size))


def _written(model: Any, folder: Path, prompt: Callable[[], np.ndarray]) -> Files:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    files = Files(
        folder=folder, layers=model.config.num_hidden_layers, words=model.config.vocab_size
    )
    if not files.form(NARROW[-1]).exists():
        np.save(files.prompt, prompt())
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            _export(model, files)
            for name in NARROW:
                NARROWED[name](files.form("export"), files.form(name))
    return files


def _read(gguf: Path, *, layers: int | None, words: int | None) -> Any:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, local_files_only=True
    ).eval()
    if layers is not None:
        model.model.layers = model.model.layers[:layers]
        model.config.num_hidden_layers = layers
    if words is not None:
        model.resize_token_embeddings(words)
    return model


def _prompt(gguf: Path, words: int | None) -> np.ndarray:
    import transformers

    if words is not None:
        return _drawn_prompt(words)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    asked = [{"role": "user", "content": PROMPT}]
    encoded = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=True)
    return np.array([encoded["input_ids"]])


def _drawn_prompt(words: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, words, (1, TOKENS))


def _export(model: Any, files: Files) -> None:
    """The program that isomorph makes of a GGUF file, and its export by ``torch.onnx``."""
    import torch

    from isomorph.frameworks.pytorch.hugging_face import traced

    program = traced(model, causal=True)
    torch.export.save(program, files.reference)
    caches = [f"{layer}.{part}" for layer in range(files.layers) for part in ("key", "value")]
    made = torch.onnx.export(
        program,
        dynamo=True,
        verbose=False,
        external_data=False,
        input_names=[
            "input_ids", "attention_mask", "position_ids",
            *(f"past_key_values.{cache}" for cache in caches),
        ],
        output_names=["logits", *(f"present.{cache}" for cache in caches)],
    )  # fmt: skip
    made.save(files.form("export"))


def _to_float16(source: Path, target: Path) -> None:
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=False), target)


def _to_int8(source: Path, target: Path) -> None:
    """Dynamic quantization; weights of seven bits, whose products saturate on no CPU."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)
    quantize_dynamic(
        source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )
    logging.disable(logging.NOTSET)


def _to_int4(source: Path, target: Path) -> None:
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    logging.disable(logging.WARNING)
    made = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=False)
    made.process()
    logging.disable(logging.NOTSET)
    onnx.save(made.model.model, target)


NARROWED = {"float16": _to_float16, "int8": _to_int8, "int4": _to_int4}
