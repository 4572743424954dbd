"""Small networks with random weights, exported along the usual routes, for ``exports.py``."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files of one network, and inputs for the reference."""

    reference: Path
    candidate: Path
    inputs: dict[str, Any]


TORCH_ROUTES = ("dynamo", "script", "slim", "optimized")
KERAS_ROUTES = ("tflite", "tf2onnx")


def exported(network: str, route: str, *, dynamic: bool = False) -> Pair:
    """Both files, in a folder that goes with the process; ``dynamic``: of any batch, tried at 2."""
    folder = Path(tempfile.mkdtemp(prefix="exports-"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if network in KERAS:
            # tf2onnx writes GELU with Erfc, which is no operator of ONNX.
            further = {"activation": "silu"} if (network, route) in WITHOUT_GELU else {}
            batch = None if dynamic else 1
            return _from_keras(KERAS[network](batch, **further), route, folder)
        return _from_torch(network, route, folder, dynamic=dynamic)


# -- PyTorch ----------------------------------------------------------------------------------


def _of_transformers(model: str, config: str, **options: Any) -> Callable[[], Any]:
    """A network of ``transformers``, by the names of its class and of its configuration's."""

    def build() -> Any:
        import transformers

        return getattr(transformers, model)(getattr(transformers, config)(**options))

    return build


def _mobilenet() -> Any:
    from torch import nn

    block = _inverted()
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(),
        block(16, 16, 16, 3, 1, False), block(16, 48, 24, 3, 2, False),
        block(24, 64, 32, 5, 2, True), block(32, 96, 32, 5, 1, True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 48), nn.Hardswish(), nn.Dropout(0.2),
        nn.Linear(48, 7),
    )  # fmt: skip


def _inverted() -> type:
    import torch
    from torch import nn

    class Inverted(nn.Module):
        """The block of MobileNetV3."""

        def __init__(self, c, wide, out, kernel, stride, gate):
            super().__init__()
            self.shortcut = stride == 1 and c == out
            self.grow = nn.Sequential(nn.Conv2d(c, wide, 1, bias=False), nn.BatchNorm2d(wide),
                                      nn.Hardswish())  # fmt: skip
            self.deep = nn.Sequential(
                nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
                nn.BatchNorm2d(wide), nn.ReLU(),
            )  # fmt: skip
            self.gate = (
                nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 16, 1), nn.ReLU(),
                              nn.Conv2d(16, wide, 1), nn.Hardsigmoid()) if gate else None
            )  # fmt: skip
            self.end = nn.Sequential(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.deep(self.grow(x))
            y = y if self.gate is None else y * self.gate(y)
            y = self.end(y)
            return x + y if self.shortcut else y

    return Inverted


def _whisper() -> Any:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return WhisperEncoder(
        WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64,
                      num_mel_bins=8, max_source_positions=16)
    )  # fmt: skip


def _recurrent(kind: str) -> Callable[[], Any]:
    def build() -> Any:
        from torch import nn

        class Recurrent(nn.Module):
            """Two layers and the last step."""

            def __init__(self):
                super().__init__()
                self.cells = getattr(nn, kind)(8, 16, 2, batch_first=True)
                self.end = nn.Linear(16, 4)

            def forward(self, x):
                return self.end(self.cells(x)[0][:, -1])

        return Recurrent()

    return build


IMAGE = ("pixel_values", (1, 3, 64, 64))
TOKENS = ("input_ids", (1, 12))
TORCH: dict[str, tuple[Callable[[], Any], tuple[str, tuple[int, ...]]]] = {
    "resnet50": (
        _of_transformers(
            "ResNetForImageClassification", "ResNetConfig", embedding_size=16,
            hidden_sizes=[32, 64, 96, 128], depths=[3, 4, 6, 3], num_labels=7,
        ),
        IMAGE,
    ),
    "mobilenetv3": (_mobilenet, ("input", (1, 3, 64, 64))),
    "efficientnet": (
        _of_transformers(
            "EfficientNetForImageClassification", "EfficientNetConfig", width_coefficient=0.25,
            depth_coefficient=0.5, hidden_dim=320, num_labels=7, image_size=64,
        ),
        IMAGE,
    ),
    "vit": (
        _of_transformers(
            "ViTForImageClassification", "ViTConfig", hidden_size=32, num_hidden_layers=2,
            num_attention_heads=2, intermediate_size=64, image_size=64, patch_size=16,
            num_labels=7,
        ),
        IMAGE,
    ),
    "swin": (
        _of_transformers(
            "SwinForImageClassification", "SwinConfig", image_size=64, patch_size=4,
            embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=7,
        ),
        IMAGE,
    ),
    "convnext": (
        _of_transformers(
            "ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[16, 32],
            depths=[2, 2], num_stages=2, num_labels=7, image_size=64,
        ),
        IMAGE,
    ),
    "bert": (
        _of_transformers(
            "BertModel", "BertConfig", hidden_size=32, num_hidden_layers=2,
            num_attention_heads=2, intermediate_size=64, vocab_size=100,
        ),
        TOKENS,
    ),
    "gpt2": (
        _of_transformers(
            "GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=2, vocab_size=100,
            n_positions=32, use_cache=False,
        ),
        TOKENS,
    ),
    "llama": (
        _of_transformers(
            "LlamaForCausalLM", "LlamaConfig", hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, vocab_size=100,
            use_cache=False,
        ),
        TOKENS,
    ),
    "t5": (
        _of_transformers(
            "T5EncoderModel", "T5Config", d_model=32, d_kv=8, d_ff=64, num_layers=2,
            num_heads=4, vocab_size=100,
        ),
        TOKENS,
    ),
    "whisper": (_whisper, ("input_features", (1, 8, 32))),
    "lstm": (_recurrent("LSTM"), ("x", (1, 6, 8))),
    "gru": (_recurrent("GRU"), ("x", (1, 6, 8))),
}  # fmt: skip


WRITTEN_OUT = {"swin", "t5"}
"""Networks whose fused attention with a mask the dynamo exporter cannot export: it takes a view of
what is transposed. It exports the same attention written out."""

MASKED = {"gpt2", "llama"}
"""Networks that compare positions where they get no mask, by an operator (diff) that the script
exporter cannot export. With a mask of ones they do not."""


def _from_torch(network: str, route: str, folder: Path, *, dynamic: bool) -> Pair:
    import torch

    build, (name, shape) = TORCH[network]
    torch.manual_seed(0)
    module = build().eval()
    if network in WRITTEN_OUT and route != "script":
        module.set_attn_implementation("eager")
    whole = name == "input_ids"
    if not whole:
        _normalize(module, name, shape)
    shape = (2 if dynamic else shape[0], *shape[1:])
    free = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)} if dynamic else {}
    example = torch.randint(0, 100, shape) if whole else torch.randn(shape)
    module = _Plain(module, name, masked=network in MASKED and route == "script")
    with torch.no_grad():
        program = torch.export.export(module, (example,), **free)
    reference, candidate = folder / "model.pt2", folder / "model.onnx"
    torch.export.save(program, reference)
    if route == "script":
        named = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}} if dynamic else {}
        torch.onnx.export(
            module, (example,), str(candidate), dynamo=False, opset_version=17, **named
        )
    else:
        torch.onnx.export(module, (example,), str(candidate), dynamo=True, verbose=False, **free)
    if route == "slim":
        import onnx
        import onnxslim

        onnx.save(onnxslim.slim(str(candidate)), folder / "slim.onnx")
        candidate = folder / "slim.onnx"
    if route == "optimized":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(folder / "optimized.onnx")
        onnxruntime.InferenceSession(str(candidate), options, providers=["CPUExecutionProvider"])
        candidate = folder / "optimized.onnx"
    names = program.graph_signature.user_inputs
    return Pair(reference=reference, candidate=candidate, inputs={names[0]: example.numpy()})


_SEEN = 8
"""Images from which the statistics of normalizations are taken."""


def _normalize(module: Any, name: str, shape: tuple[int, ...]) -> None:
    """Give normalizations the statistics of what they read, as a training does.

    With other ones, the numbers vanish from layer to layer: the outputs of a deep network hardly
    depend on its inputs, and no change of its first half reaches them.
    """
    import torch

    norms = [each for each in module.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    if not norms:
        return
    for each in norms:
        torch.nn.init.uniform_(each.weight, 0.5, 1.5)
        torch.nn.init.uniform_(each.bias, -0.5, 0.5)
        each.momentum = 1.0
        each.train()
    images = torch.randn(_SEEN, *shape[1:])
    with torch.no_grad():
        module(images) if name in ("x", "input") else module(**{name: images})
    module.eval()


def _Plain(module: Any, name: str, *, masked: bool) -> Any:
    """The module with one input, and its first result."""
    import torch
    from torch import nn

    class Plain(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            further = {"attention_mask": torch.ones_like(x)} if masked else {}
            named = name not in ("x", "input")
            made = self.inner(**{name: x}, **further) if named else self.inner(x)
            return made if not hasattr(made, "to_tuple") else made.to_tuple()[0]

    return Plain(module).eval()


# -- Keras ------------------------------------------------------------------------------------


def _keras_cnn(batch: int | None) -> Any:
    import keras
    from keras import layers as k

    x = inner = keras.Input((32, 32, 3), batch_size=batch)
    for width, stride in ((8, 2), (16, 2)):
        x = k.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        x = k.ReLU(6.0)(k.BatchNormalization()(x))
        y = k.DepthwiseConv2D(3, padding="same")(x)
        y = k.Activation("hard_silu")(k.BatchNormalization()(y))
        y = k.Conv2D(width, 1)(y)
        gate = k.Conv2D(width, 1, activation="sigmoid")(k.GlobalAveragePooling2D(keepdims=True)(y))
        x = k.Add()([x, k.Multiply()([y, gate])])
    x = k.AveragePooling2D(2, padding="same")(k.MaxPooling2D(3, 2, padding="same")(x))
    x = k.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(x)
    x = k.Dense(12, activation="relu")(k.Flatten()(x))
    return keras.Model(inner, k.Dense(5, activation="softmax")(x))


def _keras_transformer(batch: int | None, activation: str = "gelu") -> Any:
    import keras
    from keras import layers as k

    inner = keras.Input((6,), batch_size=batch, dtype="int32")
    x = k.Embedding(20, 16)(inner)
    for _ in range(2):
        x = k.LayerNormalization()(x + k.MultiHeadAttention(2, 8)(x, x))
        x = k.LayerNormalization()(x + k.Dense(16)(k.Dense(32, activation=activation)(x)))
    return keras.Model(inner, k.Dense(4)(k.GlobalAveragePooling1D()(x)))


def _keras_recurrent(kind: str) -> Callable[[int | None], Any]:
    def build(batch: int | None) -> Any:
        import keras
        from keras import layers as k

        inner = keras.Input((6, 8), batch_size=batch)
        x = getattr(k, kind)(16, return_sequences=True)(inner)
        return keras.Model(inner, k.Dense(4)(getattr(k, kind)(16)(x)))

    return build


WITHOUT_GELU = {("keras_transformer", "tf2onnx")}
KERAS: dict[str, Callable[..., Any]] = {
    "keras_cnn": _keras_cnn,
    "keras_transformer": _keras_transformer,
    "keras_lstm": _keras_recurrent("LSTM"),
    "keras_gru": _keras_recurrent("GRU"),
}


def _from_keras(model: Any, route: str, folder: Path) -> Pair:
    import tensorflow as tf

    draw = np.random.default_rng(0)
    for weight in model.weights:
        low = 0.2 if "variance" in weight.path or "gamma" in weight.path else -0.5
        # By the inputs of each sum, so that no softmax saturates and hides what differs.
        scale = 1.0 / np.sqrt(np.prod(weight.shape[:-1])) if len(weight.shape) > 1 else 1.0
        weight.assign((draw.uniform(low, 0.8, weight.shape) * scale).astype(np.float32))
    spec = model.inputs[0]
    shape = tuple(spec.shape)
    tried = tuple(2 if size is None else size for size in shape)
    whole = "int" in str(spec.dtype)
    value = draw.integers(0, 20, tried) if whole else draw.normal(size=tried)
    value = value.astype(np.int32 if whole else np.float32)
    reference = folder / "model.keras"
    model.save(reference)
    if route == "tflite":
        candidate = folder / "model.tflite"
        candidate.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    else:
        import onnx
        import tf2onnx

        function = tf.function(model, input_signature=[tf.TensorSpec(shape, value.dtype, "x")])
        made, _ = tf2onnx.convert.from_function(
            function, input_signature=[tf.TensorSpec(shape, value.dtype, "x")], opset=17
        )
        candidate = folder / "model.onnx"
        onnx.save(made, candidate)
    import isomorph  # noqa: F401
    from isomorph import registry

    name = registry.framework("tensorflow").load(reference, {}).graph.inputs[0].name
    return Pair(reference=reference, candidate=candidate, inputs={name: value})


PAIRS = [(name, route) for name in TORCH for route in TORCH_ROUTES] + [
    (name, route) for name in KERAS for route in KERAS_ROUTES
]
