"""The rotary decoder of ``onnx_decoders`` in plain PyTorch, with the weights of the ONNX file."""

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from onnx_decoders import HEAD, HEADS, KEY_HEADS, LAYERS, WIDTH, WORDS


def rotated(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Each pair of the two halves, turned by the angle of its position."""
    half = x.shape[-1] // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = positions[:, None, :, None].float() * speeds
    cosine, sine = (torch.cat((each, each), -1) for each in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * self.weight


class RotaryBlock(nn.Module):
    """Rotary positions and grouped heads; the keys of the cache are turned already."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = RootMeanSquare(), RootMeanSquare()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 48, bias=False), nn.Linear(48, WIDTH, bias=False)

    def forward(self, x, hidden, positions, past_key, past_value):
        batch, tokens, _ = x.shape
        y = self.before(x)
        query, key, value = (
            layer(y).view(batch, tokens, -1, HEAD).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        query, key = rotated(query, positions, 10000.0), rotated(key, positions, 10000.0)
        key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
        keys, values = (each.repeat_interleave(HEADS // KEY_HEADS, 1) for each in (key, value))
        scores = (query @ keys.transpose(2, 3) * HEAD**-0.5).masked_fill(hidden, -1e9)
        seen = (scores.softmax(-1) @ values).transpose(1, 2).reshape(batch, tokens, WIDTH)
        x = x + self.out(seen)
        return x + self.down(nn.functional.silu(self.up(self.after(x)))), key, value


class RotaryDecoder(nn.Module):
    """Of the Llama type: tokens, a mask over all positions, positions, and the caches."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(RotaryBlock() for _ in range(LAYERS))
        self.norm = RootMeanSquare()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, input_ids, attention_mask, position_ids, past_key_values):
        total, tokens = attention_mask.shape[1], input_ids.shape[1]
        places = torch.arange(total)
        hidden = places[None, :] > (places[total - tokens :])[:, None]
        hidden = hidden[None, None] | (attention_mask == 0)[:, None, None, :]
        x, present = self.words(input_ids), []
        for block, past in zip(self.layers, past_key_values, strict=True):
            x, *cached = block(x, hidden, position_ids, *past)
            present.append(tuple(cached))
        return self.head(self.norm(x)), present


def exported_decoder(model: str, path: str) -> str:
    """The decoder with the weights of an ONNX file, as an exported program."""
    stored = {each.name: numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer}
    decoder = RotaryDecoder().eval()
    weights = {}
    for name, parameter in decoder.state_dict().items():
        plain = name.removeprefix("layers.").removesuffix(".weight")
        known = (
            f"layer{plain.replace('.', '/')}" if plain != name.removesuffix(".weight") else plain
        )
        value = torch.from_numpy(stored[known if known == "words" else f"{known}.weight"].copy())
        weights[name] = value.T if value.shape != parameter.shape or known == "head" else value
    for name in [name for name in weights if name.endswith(("query.weight", "out.weight"))]:
        weights[name] = weights[name].T  # square: its shape does not tell
    decoder.load_state_dict(weights)
    past = [tuple(torch.randn(1, KEY_HEADS, 3, HEAD) for _ in range(2)) for _ in range(LAYERS)]
    inputs = torch.zeros(1, 4, dtype=torch.long), torch.ones(1, 7, dtype=torch.long)
    free = torch.export.Dim.DYNAMIC
    shapes = ({1: free}, {1: free}, {1: free}, [({2: free}, {2: free})] * LAYERS)
    program = torch.export.export(
        decoder, (*inputs, torch.arange(3, 7)[None], past), dynamic_shapes=shapes
    )
    torch.export.save(program, path)
    return path
