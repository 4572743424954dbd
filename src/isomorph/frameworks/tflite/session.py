"""A TFLite model loaded in LiteRT, fed and fetched at any tensor.

Whatever is not the plain question (all inputs in, outputs out) is answered by a cut: the
operators in between, written as a model of their own whose outputs are the tensors wanted.
LiteRT's own way, preserving all tensors, hands out memory that XNNPACK never wrote.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ai_edge_litert
import numpy as np

from isomorph.core.cutting import refuse_noise, unfed_inputs
from isomorph.core.errors import UsageError
from isomorph.core.kept_pieces import KeptPieces
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.tflite.buffers import HANDLES
from isomorph.frameworks.tflite.cut import Cutter, Slice
from isomorph.frameworks.tflite.errors import opening_failed, running_failed
from isomorph.frameworks.tflite.fetch_batches import batches
from isomorph.frameworks.tflite.flatbuffer_writer import build
from isomorph.frameworks.tflite.interpreter import Opening, Settings
from isomorph.frameworks.tflite.tensor_values import fitted
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.dtypes import same_bits
from isomorph.store.spill import byte_budget, spilled

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays
    from isomorph.frameworks.tflite.program import TfliteProgram

KEPT_PIECES = 8
"""Cuts that stay open: a bisection comes back to the same few."""


class TfliteSession:
    """One loaded model. What only feeds inputs and fetches outputs runs the file itself."""

    capabilities = Capabilities(fetch="all", feed="all")

    def __init__(self, model: Model, environment: Environment, settings: Settings) -> None:
        self._program: TfliteProgram = model.native
        self._file, self._settings = model.location, settings
        self._cutter = Cutter(self._program)
        self._pieces: KeptPieces[tuple[Opening, Mapping[int, int]]] = KeptPieces(KEPT_PIECES)
        self._deployed = self._opened(_source(self._program), settings, self._cutter.whole)
        self.environment = self._completed(environment, self._delegate())

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor."""
        refuse_noise(noise, "LiteRT")
        wanted = {name: self._cutter.find(name) for name in fetch}
        given = self._given(feeds)
        found: dict[int, Any] = {}
        for index in wanted.values():
            if index in given:
                found[index] = given[index]
            elif self._is_known(index):
                found[index] = self._known(index)
        rest = [index for index in dict.fromkeys(wanted.values()) if index not in found]
        found.update(self._computed(given, rest))
        return {name: found[index] for name, index in wanted.items()}

    def close(self) -> None:
        """Let go of every interpreter."""
        self._pieces.clear()
        self._deployed.close()

    def _given(self, feeds: Arrays) -> dict[int, Array]:
        """Feeds by index, without handles (which have no value) and unchanged constants."""
        tensors = self._program.main.tensors
        given: dict[int, Array] = {}
        for name, value in feeds.items():
            tensor = tensors[self._cutter.find(name)]
            if tensor.dtype in HANDLES:
                if value is not None:
                    raise UsageError("FEED_DTYPE", f"{name!r} is a handle and cannot be fed")
                continue
            array = fitted(tensor, name, value)
            if not tensor.constant or not same_bits(array, self._program.array(tensor)):
                given[tensor.index] = array
        return given

    def _is_known(self, index: int) -> bool:
        tensor = self._program.main.tensors[index]
        return tensor.constant or tensor.variable or tensor.dtype in HANDLES

    def _known(self, index: int) -> Array | None:
        """A constant, the zeros that a state begins with, or None for a handle."""
        tensor = self._program.main.tensors[index]
        if tensor.variable:
            return np.zeros(tensor.shape, numpy_dtype(tensor.dtype))
        return self._program.array(tensor)

    def _computed(self, given: dict[int, Array], fetch: list[int]) -> dict[int, Any]:
        if not fetch:
            return {}
        main = self._program.main
        if set(given) == set(main.inputs) and set(fetch) <= set(main.outputs):
            feeds = {index: given[index] for index in main.inputs}
            return self._run(self._deployed, self._cutter.whole, feeds, fetch, {})
        # XNNPACK packs weights that are computed from constants, and never writes the tensor.
        fixed = self._cutter.fixed
        apart = [index for index in fetch if index in fixed and self._settings.delegates]
        found = self._cut(given, apart, self._settings.undelegated) if apart else {}
        rest = [index for index in fetch if index not in found]
        parts = batches(self._cutter, rest, given, byte_budget())
        for batch in parts:
            # What is already known is fed, so every operator runs once; weights stay constants.
            known = {index: value for index, value in found.items() if index not in fixed}
            values = self._cut({**known, **given}, batch, self._settings)
            if len(parts) > 1:
                values = {index: spilled(value) for index, value in values.items()}
            found.update(values)
        return found

    def _cut(
        self, known: Mapping[int, Array], fetch: list[int], settings: Settings
    ) -> dict[int, Any]:
        piece = self._cutter.slice(known, fetch)
        if piece.inputs:
            raise self._missing(piece, fetch)
        tensors = self._program.main.tensors
        operators = self._program.main.operators
        read = {index for place in piece.operators for index in operators[place].inputs}
        used = {index: array for index, array in known.items() if index in read}
        # What the file fixes is fed as a constant: kernels prepare those ahead.
        replaced = {
            index: array
            for index, array in used.items()
            if tensors[index].constant or index in self._cutter.fixed
        }
        state = {index: array for index, array in used.items() if tensors[index].variable}
        feeds = {
            index: array
            for index, array in used.items()
            if index not in replaced and index not in state
        }
        opening, places = self._piece(piece, tuple(feeds), tuple(fetch), replaced, settings)
        moved = {places[index]: array for index, array in feeds.items()}
        initial = {places[index]: array for index, array in state.items()}
        values = self._run(opening, piece, moved, [places[index] for index in fetch], initial)
        return {index: values[places[index]] for index in fetch}

    def _piece(
        self,
        piece: Slice,
        feeds: tuple[int, ...],
        fetch: tuple[int, ...],
        replaced: Mapping[int, Array],
        settings: Settings,
    ) -> tuple[Opening, Mapping[int, int]]:

        def opened() -> tuple[Opening, Mapping[int, int]]:
            cut = build(self._program, piece, feeds, fetch, replaced)
            return self._opened({"model_content": cut.data}, settings, piece), cut.places

        return opened() if replaced else self._pieces.get((feeds, fetch, settings), opened)

    def _opened(self, source: Mapping[str, Any], settings: Settings, piece: Slice) -> Opening:
        try:
            return Opening(source, settings, stateful=piece.stateful)
        except (ValueError, RuntimeError) as error:
            raise opening_failed(error, self._program, file=self._file) from error

    def _delegate(self) -> str:
        """Who computes, found by preparing the whole model: an unknown operator shows here."""
        try:
            return "XNNPACK" if self._deployed.prepare() else "none"
        except (ValueError, RuntimeError) as error:
            failure = opening_failed(error, self._program, file=self._file)
            tensors = [self._program.main.tensors[index] for index in self._program.main.inputs]
            dynamic = any(each.signature is None or -1 in each.signature for each in tensors)
            # The placeholders of dynamic axes may be too small to compute anything with.
            if failure.code != "RUNTIME_FAILED" or not dynamic:
                raise failure from error
            open_question = "XNNPACK, where it can take the sizes that are fed"
            return open_question if self._settings.delegates else "none"

    def _run(
        self,
        opening: Opening,
        piece: Slice,
        feeds: Mapping[int, Array],
        fetch: Sequence[int],
        state: Mapping[int, Array],
    ) -> dict[int, Any]:
        try:
            values = opening.run(feeds, fetch, state)
        except (ValueError, RuntimeError) as error:
            raise running_failed(error, self._program, piece, file=self._file) from error
        return dict(zip(fetch, values, strict=True))

    def _missing(self, piece: Slice, fetch: Sequence[int]) -> UsageError:
        tensors = self._program.main.tensors
        names = [tensors[index].name for index in piece.inputs]
        return unfed_inputs(names, tensors[fetch[0]].name, file=self._file)

    def _completed(self, asked: Environment, delegate: str) -> Environment:
        """What was asked for, and what LiteRT really does about it."""
        settings = self._settings
        facts = {
            "litert": str(ai_edge_litert.__version__),
            "delegate": delegate,
            "kernels": settings.kernels,
        }
        if any(self._program.main.tensors[i].quantization for i in self._program.main.inputs):
            facts["quantized inputs"] = (
                "taken in their own integer type, or as floats that are divided by the scale in "
                "float32, rounded with ties away from zero, and clipped"
            )
        return replace(
            asked,
            version=str(ai_edge_litert.__version__),
            device="cpu",
            threads=settings.threads,
            facts={**asked.facts, **facts},
        )


def _source(program: TfliteProgram) -> Mapping[str, Any]:
    """The user's own file where LiteRT can open it by its name, else the same bytes."""
    if program.path is not None:
        path = os.fspath(program.path)
        # LiteRT takes only Unicode paths from Python.
        if not any("\ud800" <= letter <= "\udfff" for letter in path):
            return {"model_path": path}
    return {"model_content": bytes(program.data)}
