"""A folder that transformers wrote, or a GGUF file, as an exported program.

A causal language model takes tokens, a mask, positions and its caches, and returns logits and
caches, so that it can be compared with an export of that form, token by token. Any other model
takes tokens and a mask. No code of the folder runs.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch

from isomorph.core.errors import UnreadableModelError
from isomorph.core.lazy import require
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.pytorch.silence_logs import quietly

EXTRA = "hf"
GGUF_NOTE = "a GGUF file: its quantized weights are read as the float32 numbers that they stand for"
_BATCH, _TOKENS, _CACHED = 2, 5, 3
"""Sizes of the example; equal ones would be taken for one axis."""


class Decoder(torch.nn.Module):  # type: ignore[misc]
    """A causal language model with its caches as plain tensors."""

    def __init__(self, model: Any, *, positions: bool) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.positions = model, positions

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        past_key_values: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """The logits, and the caches with the positions of these tokens."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (key, value) in enumerate(past_key_values):
            cache.update(key, value, layer)
        placed = {"position_ids": position_ids} if self.positions else {}
        found = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
            **placed,
        )
        return found.logits, cached(found.past_key_values)


class Encoder(torch.nn.Module):  # type: ignore[misc]
    """Any other model of tokens."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:  # noqa: ANN401
        """All of its outputs."""
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, return_dict=True
        ).to_tuple()


def cached(caches: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Keys and values of each layer."""
    return [(layer.keys, layer.values) for layer in caches.layers]


def exported_folder(path: Path) -> Any:  # noqa: ANN401
    """The model of a folder, exported with dynamic sizes."""
    try:
        config = read_json((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableModelError(
            "NOT_A_MODEL", "the configuration of the folder cannot be read", file=str(path),
            where="config.json", why=str(error)[:200], fix="download or copy the folder again",
        ) from error  # fmt: skip
    names = config.get("architectures") if isinstance(config, dict) else None
    if not isinstance(names, list) or not names or "auto_map" in config:
        raise UnreadableModelError(
            "NOT_A_MODEL", "the configuration names no model of transformers", file=str(path),
            why="the model is code of its own" if names else "config.json lacks architectures",
            fix="give a factory that loads it: package.module:factory --trust --inputs FILE",
        )  # fmt: skip
    with quietly():
        transformers = require(
            "transformers", extra=EXTRA, needed_for="a folder of config.json and safetensors"
        )
        kind = getattr(transformers, str(names[0]), None)
        if kind is None:
            raise UnreadableModelError(
                "NOT_A_MODEL", f"transformers has no {names[0]}", file=str(path),
                fix="install a version of transformers that has it",
            )  # fmt: skip
        packing = _packing(config)
        return _exported(_read(kind, path, path, packing=packing, use_safetensors=True), path)


def _packing(config: dict[str, Any]) -> str:
    """How the weights are packed (``gptq``, ``awq``); empty where they are plain numbers."""
    stated = config.get("quantization_config")
    return str(stated.get("quant_method") or "") if isinstance(stated, dict) else ""


def exported_gguf(path: Path) -> Any:  # noqa: ANN401
    """The model of a GGUF file, its weights dequantized to float32, exported with dynamic sizes."""
    for package in ("gguf", "accelerate"):
        require(package, extra=EXTRA, needed_for="a GGUF file")
    with quietly():
        transformers = require("transformers", extra=EXTRA, needed_for="a GGUF file")
        # The bars go to the error stream that transformers found when it was imported.
        transformers.utils.logging.disable_progress_bar()
        kind, wide = transformers.AutoModelForCausalLM, torch.float32
        return _exported(_read(kind, path.parent, path, gguf_file=path.name, dtype=wide), path)


def _read(
    kind: Any,  # noqa: ANN401
    folder: Path,
    path: Path,
    packing: str = "",
    **options: object,
) -> Any:  # noqa: ANN401
    """The model that transformers reads from a folder; ``path`` is what an error names."""
    try:
        return kind.from_pretrained(folder, local_files_only=True, **options).eval()
    except ImportError as error:
        if not packing:
            raise _unread(path, error) from error
        # transformers names the package that unpacks them; the folder itself may be whole.
        raise UnreadableModelError(
            "NOT_A_MODEL", f"its weights are packed by {packing}, and nothing here unpacks them",
            file=str(path), why=" ".join(str(error).split())[:200],
            fix="install the package that is named, or give the float model that was quantized",
        ) from error  # fmt: skip
    except Exception as error:  # readers of foreign files raise whatever they raise
        raise _unread(path, error) from error


def _unread(path: Path, error: Exception) -> UnreadableModelError:
    return UnreadableModelError(
        "NOT_A_MODEL", "transformers cannot read this model", file=str(path),
        why=" ".join(str(error).split())[:200],
        fix="see that the file or folder is whole, or give the model that it was made from",
    )  # fmt: skip


def _exported(model: Any, path: Path) -> Any:  # noqa: ANN401
    """The model as an exported program; a causal one takes and returns its caches."""
    name = type(model).__name__
    try:
        with torch.no_grad():
            return traced(model, causal=name.endswith(("ForCausalLM", "LMHeadModel")))
    except Exception as error:  # tracing raises whatever it meets
        raise UnreadableModelError(
            "NOT_EXPORTABLE", f"torch.export cannot follow {name}", file=str(path),
            why=" ".join(str(error).split())[:200],
            fix="export it yourself with torch.export.save (.pt2)",
        ) from error  # fmt: skip


def traced(model: Any, *, causal: bool) -> Any:  # noqa: ANN401
    """The exported program of a model of transformers; a causal one takes and returns caches."""
    free = torch.export.Dim.AUTO
    tokens = torch.arange(_BATCH * _TOKENS).reshape(_BATCH, _TOKENS) % model.config.vocab_size
    rows = {0: free, 1: free}
    if not causal:
        example: tuple[Any, ...] = tokens, torch.ones_like(tokens)
        return torch.export.export(
            Encoder(model), example, dynamic_shapes=(rows, rows), strict=False
        )
    positions = "position_ids" in inspect.signature(model.forward).parameters
    past = cached(model(tokens[:, :_CACHED], use_cache=True).past_key_values)
    mask = torch.ones(_BATCH, _CACHED + _TOKENS, dtype=torch.long)
    places = torch.arange(_CACHED, _CACHED + _TOKENS).repeat(_BATCH, 1)
    lengths = [({0: free, 2: free}, {0: free, 2: free}) for _ in past]
    return torch.export.export(
        Decoder(model, positions=positions),
        (tokens, mask, places, past),
        dynamic_shapes=(rows, rows, rows, lengths),
        strict=False,
    )
