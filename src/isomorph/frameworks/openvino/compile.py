"""Compiling models with OpenVINO, and running what was compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError, RuntimeFailedError, message_lines
from isomorph.core.settings import thread_count

if TYPE_CHECKING:
    from isomorph.core.trace import Array

DEVICE = "CPU"
_UNSUPPORTED = re.compile(
    r"(?:not support|not supported|no conversion rule)[^:]*operation[^:]*:\s*([^\n]+)"
    r"|Cannot create (\w+) layer",
    re.I,
)
_MODES = {"performance": "PERFORMANCE", "accuracy": "ACCURACY"}


class Compiled:
    """One compiled model: arrays by name in, arrays by name out."""

    def __init__(self, compiled: Any, inputs: Sequence[str], outputs: Sequence[str]) -> None:  # noqa: ANN401
        self.native, self._outputs = compiled, tuple(outputs)
        self._request = compiled.create_infer_request()
        self._places = {name: place for place, name in enumerate(_named(compiled, inputs))}

    def run(self, feeds: Mapping[str, Array], *, file: str) -> dict[str, Array]:
        """Every output; an input that the compiler found useless is not fed."""
        given = {
            # Unlike ascontiguousarray, this makes no vector of a scalar.
            place: np.asarray(feeds[name], order="C")
            for name, place in self._places.items()
            if name in feeds
        }
        try:
            self._request.reset_state()  # a run begins with the states that the file states
            self._request.infer(given)
            return {
                name: np.array(self._request.get_output_tensor(place).data)
                for place, name in enumerate(self._outputs)
            }
        except Exception as error:
            raise RuntimeFailedError(
                "RUNTIME_FAILED", "OpenVINO failed while running", file=file, why=_message(error)
            ) from error


def _named(compiled: Any, inputs: Sequence[str]) -> list[str]:  # noqa: ANN401
    """The names of its inputs, in its order; by place where it kept no name."""
    found = []
    for place, port in enumerate(compiled.inputs):
        known = [name for name in inputs if name in port.get_names()]
        found.append(known[0] if known else inputs[place])
    return found


def configuration(settings: Mapping[str, str]) -> dict[str, Any]:
    """The plugin's own words for our settings."""
    found: dict[str, Any] = {}
    if settings["precision"] != "default":
        found["INFERENCE_PRECISION_HINT"] = settings["precision"]
    if settings["mode"] != "default":
        found["EXECUTION_MODE_HINT"] = _MODES[settings["mode"]]
    if settings["dynamic_quantization"] == "off":
        found["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
    threads = thread_count(settings["threads"])
    if threads is not None:
        found["INFERENCE_NUM_THREADS"] = threads
    return found


def refused(error: Exception, file: str) -> IsomorphError:
    """OpenVINO's error for a model, with the operator that it lacks if the message names one."""
    message = _message(error)
    missing = _UNSUPPORTED.search(message)
    if missing is not None:
        named = (missing[1] or missing[2]).strip()
        return RuntimeFailedError(
            "UNSUPPORTED_OP",
            f"OpenVINO has no operator {named}",
            file=file,
            why=message,
            fix="use another runtime for this model",
        )
    return RuntimeFailedError(
        "RUNTIME_REFUSED", "OpenVINO refuses the model", file=file, why=message,
        fix="the reason is OpenVINO's own; try another runtime",
    )  # fmt: skip


def _message(error: Exception) -> str:
    return "\n".join(message_lines(error)[:8]) or type(error).__name__
