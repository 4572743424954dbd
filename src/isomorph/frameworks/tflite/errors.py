"""Errors of LiteRT as errors of isomorph, with the operator's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError, RuntimeFailedError, UnreadableModelError
from isomorph.frameworks.tflite.parse import damaged

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.cut import Slice
    from isomorph.frameworks.tflite.program import TfliteOperator, TfliteProgram

_NODE = re.compile(r"Node number (\d+) \((\w+)\) failed to (prepare|invoke)")
_CUSTOM = re.compile(r"unresolved custom op: ([^.\s]+)")
_VERSION = re.compile(r"Didn't find op for builtin opcode '(\w+)' version '(\d+)'")
_NO_FLATBUFFER = ("not a valid Flatbuffer", "does not encompass", "Model provided has model ident")


def opening_failed(error: Exception, program: TfliteProgram, *, file: str) -> IsomorphError:
    """Why LiteRT did not take a model: a damaged file, an unknown operator, or its own reason."""
    text = _one_line(error)
    if any(mark in text for mark in _NO_FLATBUFFER):
        return damaged(len(program.data), error, file=file)
    if found := _VERSION.search(text):
        return _unsupported(program, found[1], file, f"LiteRT knows no version {found[2]} of it")
    if found := _CUSTOM.search(text):
        return _unsupported(program, found[1], file, "it is a custom operator, and LiteRT has none")
    if "Select TensorFlow op" in text:
        flex = next((op for op in _custom(program) if op.startswith("Flex")), "a Flex operator")
        return _unsupported(
            program, flex, file, "it needs TensorFlow's own kernels (Flex delegate)"
        )
    return _failed("LiteRT cannot prepare this model", text, program, None, file)


def running_failed(
    error: Exception, program: TfliteProgram, piece: Slice, *, file: str
) -> IsomorphError:
    """Why a run failed, at which operator of the original."""
    return _failed("LiteRT failed", _one_line(error), program, piece, file)


def operators_named(program: TfliteProgram, op: str) -> list[TfliteOperator]:
    """Every operator of this name, bodies included."""
    return [each for graph in program.graphs for each in graph.operators if each.op == op]


def _custom(program: TfliteProgram) -> list[str]:
    return [each.op for graph in program.graphs for each in graph.operators if each.custom]


def _unsupported(program: TfliteProgram, op: str, file: str, why: str) -> UnreadableModelError:
    nodes = [each.name for each in operators_named(program, op)]
    return UnreadableModelError(
        "UNSUPPORTED_OP",
        f"operator {op} cannot be run",
        file=file,
        where=", ".join(nodes[:8]) + (f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""),
        why=why,
        fix="convert again with builtin operators only, or compare the part before it",
    )


def _failed(
    what: str, text: str, program: TfliteProgram, piece: Slice | None, file: str
) -> RuntimeFailedError:
    where = None
    if found := _NODE.search(text):
        places = piece.operators if piece is not None else tuple(range(len(program.main.operators)))
        place = int(found[1])
        known = place < len(places) and program.main.operators[places[place]].op == found[2]
        where = (
            program.main.operators[places[place]].name if known else f"{found[2]} (node {place})"
        )
    return RuntimeFailedError("RUNTIME_FAILED", what, file=file, where=where, why=text)


def _one_line(error: Exception) -> str:
    # An allocation that fails while operators are prepared leaves no word behind.
    silent = "LiteRT gave no reason; a tensor too large for the memory limit is a common one"
    return " ".join(str(error).split()) or silent
