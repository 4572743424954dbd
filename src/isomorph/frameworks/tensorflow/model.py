"""A TensorFlow model in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isomorph.frameworks.tensorflow.program import TfProgram

Call = Callable[[Sequence[Any]], Sequence[Any]]
"""Tensors in the order of the program's inputs, to tensors in the order of its outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TfModel:
    """The frozen program, and what is deployed.

    ``kind`` is ``savedmodel``, ``keras``, ``function`` or ``graph``. ``graph`` runs the function
    with its own variables, as a server does; None where the frozen graph itself is deployed.
    ``eager`` runs the Keras model operation by operation. ``origin`` is kept alive for both.
    """

    kind: str
    program: TfProgram
    graph: Call | None = None
    eager: Call | None = None
    origin: Any = None
