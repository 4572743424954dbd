"""Which of ONNX Runtime's optimizers changed a model, read from its own log.

ONNX Runtime has no list of its optimizers to ask for. While it opens a model it logs each one
that changed the graph, so the model is opened once more, talkative, into a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isomorph.frameworks.onnx.ort_log import talk

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel
    from isomorph.frameworks.onnx.ort_settings import Settings

_CHANGED = re.compile(r"GraphTransformer (\w+) modified: 1")
_BY_RULES = "RuleBasedTransformer"
# The rules of the rule-based transformers, which the log does not distinguish.
_RULES = (
    "EliminateIdentity", "EliminateSlice", "UnsqueezeElimination", "EliminateDropout",
    "ExpandElimination", "CastElimination", "CastChainElimination", "PreShapeNodeElimination",
    "NoopElimination", "DivMulFusion", "FuseReluClip", "GemmSumFusion", "GemmTransposeFusion",
    "NotWhereFusion", "ConvAddFusion", "ConvMulFusion", "ConvBNFusion", "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion", "ClipQuantRewrite", "ReluQuantRewrite",
    "LabelEncoderFusion",
)  # fmt: skip


def optimizers_that_ran(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    model: OnnxModel,
    *,
    file: str,
) -> tuple[str, ...]:
    """By the names under which each can be disabled, in the order in which they first ran."""
    ran = dict.fromkeys(_CHANGED.findall(talk(ort, settings, model, file=file)))
    named = [name for name in ran if not name.endswith(_BY_RULES)]
    by_rules = len(named) < len(ran)
    return (*named, *(_RULES if by_rules else ()))
