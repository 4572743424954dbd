"""The float64 oracle of TensorFlow and Keras models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.frameworks.tensorflow.silence_logs import import_tensorflow

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment


class TensorflowOracle:
    """The frozen graph in float64, every tensor fetched, with Monte-Carlo noise on request."""

    name = "tensorflow_oracle"
    extra = "tensorflow"
    worker = "tensorflow"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only TensorFlow models."""
        return model.framework == "tensorflow"

    def open(self, model: Model, environment: Environment) -> Session:
        """Constants are lifted when a run first needs them."""
        tf = import_tensorflow("runtime 'tensorflow_oracle'")
        from isomorph.frameworks.tensorflow.evaluator import evaluator_of
        from isomorph.oracle.session import OracleSession

        return OracleSession(
            evaluator_of(model.native.program, model.location),
            replace(environment, version=str(tf.__version__), device="cpu", precision="float64"),
        )
