"""LiteRT's interpreter, opened once and run from its initial state every time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import interpreter as litert

if TYPE_CHECKING:
    from isomorph.core.trace import Array

RESOLVERS = {
    ("on", "default"): litert.OpResolverType.BUILTIN,
    ("off", "default"): litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    ("on", "reference"): litert.OpResolverType.BUILTIN_REF,
    ("off", "reference"): litert.OpResolverType.BUILTIN_REF,
}
"""By XNNPACK and kernels; the reference kernels never take a delegate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How interpreters are made."""

    xnnpack: str
    kernels: str
    threads: int

    @property
    def resolver(self) -> litert.OpResolverType:
        """What LiteRT calls it."""
        return RESOLVERS[self.xnnpack, self.kernels]

    @property
    def delegates(self) -> bool:
        """Whether XNNPACK may take operators over."""
        return self.xnnpack == "on" and self.kernels == "default"

    @property
    def undelegated(self) -> Settings:
        """The same without XNNPACK."""
        return Settings(xnnpack="off", kernels=self.kernels, threads=self.threads)


class Opening:
    """One model in one interpreter; indices are the model's own.

    ``stateful`` models get a fresh interpreter for each run, because resource variables
    outlive everything else; others keep theirs, and only their state tensors are reset.
    Memory is allocated for the shapes that are fed: those in the file may fit nothing.
    """

    def __init__(self, source: Mapping[str, Any], settings: Settings, *, stateful: bool) -> None:
        self._source, self._settings, self._stateful = source, settings, stateful
        self._shapes: dict[int, tuple[int, ...]] | None = None
        self._interpreter = self._made()

    def prepare(self) -> bool:
        """Allocate for the shapes in the file; whether a delegate took over any operator."""
        try:
            self._interpreter.allocate_tensors()
            details = self._interpreter._get_ops_details()
        except (RuntimeError, ValueError):
            # What failed to be prepared once stays broken.
            self._interpreter = self._made()
            raise
        return any(operator["op_name"] == "DELEGATE" for operator in details)

    def run(
        self, feeds: Mapping[int, Array], fetch: Sequence[int], state: Mapping[int, Array]
    ) -> list[Any]:
        """Arrays for ``fetch``; ``state`` are initial values of state tensors that are not zero."""
        interpreter = self._ready({index: array.shape for index, array in feeds.items()})
        for index, array in (*feeds.items(), *state.items()):
            interpreter.set_tensor(index, _fed(array))
        interpreter.invoke()
        return [_fetched(interpreter.get_tensor(index)) for index in fetch]

    def close(self) -> None:
        """Let go of the interpreter."""
        del self._interpreter

    def _made(self) -> Any:  # noqa: ANN401
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return litert.Interpreter(
                **self._source,
                num_threads=self._settings.threads,
                experimental_op_resolver_type=self._settings.resolver,
            )

    def _ready(self, shapes: dict[int, tuple[int, ...]]) -> Any:  # noqa: ANN401
        """The interpreter in its initial state, with memory for these shapes."""
        if self._shapes is not None and self._stateful:
            self._interpreter, self._shapes = self._made(), None
        interpreter = self._interpreter
        if self._shapes != shapes:
            try:
                self._resize(interpreter, shapes)
                interpreter.allocate_tensors()
            except (RuntimeError, ValueError):
                self._interpreter, self._shapes = self._made(), None
                raise
            self._shapes = shapes
        interpreter.reset_all_variables()
        return interpreter

    def _resize(self, interpreter: Any, shapes: Mapping[int, tuple[int, ...]]) -> None:  # noqa: ANN401
        for each in interpreter.get_input_details():
            shape = shapes.get(each["index"])
            if shape is not None and shape != tuple(each["shape"]):
                interpreter.resize_tensor_input(each["index"], shape)


def _fed(array: Array) -> Array:
    # A feed may be a read-only or transposed view; LiteRT copies from plain memory.
    return np.require(array, requirements=["C", "A"])


def _fetched(value: Any) -> Any:  # noqa: ANN401
    array = np.asarray(value)
    if array.dtype.kind not in "OSU":
        return array
    words = np.empty(array.shape, object)
    for place, word in np.ndenumerate(array):
        words[place] = word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else word
    return words
