"""XML as a plain tree: no document types, no entities, bounded in size and depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from isomorph.core.errors import UnreadableModelError

MAX_BYTES = 1 << 30
"""Of the text of a graph; weights lie beside it. A larger file is refused."""
MAX_DEPTH = 400
"""Of elements inside one another; a body in a body adds five. A deeper file is refused."""
_CUT_OFF = frozenset({"no element found", "unclosed token", "unclosed CDATA section"})
_ENDS_EARLY = frozenset(
    code for code, message in expat.errors.messages.items() if message in _CUT_OFF
)


@dataclass(slots=True)
class Element:
    """One element: its name, its attributes in order and the elements in it; text is left out."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    line: int = 0

    def first(self, tag: str) -> Element | None:
        """The first child of this name."""
        return next(self.each(tag), None)

    def each(self, tag: str) -> Iterator[Element]:
        """The children of this name."""
        return (child for child in self.children if child.tag == tag)

    def inside(self, tag: str, each: str) -> list[Element]:
        """The elements of one name in the first child of another; none where there is no such."""
        held = self.first(tag)
        return [] if held is None else list(held.each(each))

    def copied(self) -> Element:
        """A copy that may be changed."""
        children = [child.copied() for child in self.children]
        return Element(self.tag, dict(self.attributes), children, self.line)


class _Builder:
    def __init__(self, file: str) -> None:
        self.file, self.root = file, None
        self._open: list[Element] = []
        self._texts: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._texts.append
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._doctype

    root: Element | None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableModelError(
                "NESTING_TOO_DEEP",
                f"more than {MAX_DEPTH} elements lie inside one another",
                file=self.file,
                where=f"line {self.parser.CurrentLineNumber}",
            )
        made = Element(tag, dict(attributes), [], self.parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(made)
        elif self.root is None:
            self.root = made
        self._open.append(made)
        self._texts.clear()

    def _end(self, tag: str) -> None:
        text = "".join(self._texts).strip()
        element = self._open.pop()
        if text and not element.children:
            element.attributes[TEXT] = text
        self._texts.clear()

    def _doctype(self, *declared: Any) -> None:  # noqa: ANN401
        raise UnreadableModelError(
            "UNSUPPORTED_FORMAT",
            "the XML declares a document type or an entity",
            file=self.file,
            where=f"line {self.parser.CurrentLineNumber}",
            why="a model has neither, and entities may read other files or fill the memory",
            fix="save the model again with openvino.save_model",
        )


TEXT = "\0text"
"""The key of an element's text among its attributes; no attribute of a file can have this name."""


def parse(data: bytes, *, file: str) -> Element:
    """The tree of an XML file; whatever is wrong with it is an error with a line."""
    if len(data) > MAX_BYTES:
        raise UnreadableModelError(
            "MODEL_TOO_LARGE", f"the XML has {len(data)} bytes", file=file,
            why=f"at most {MAX_BYTES} are read; weights belong into the .bin file",
        )  # fmt: skip
    builder = _Builder(file)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        early = error.code in _ENDS_EARLY
        raise UnreadableModelError(
            "MODEL_TRUNCATED" if early else "INVALID_GRAPH",
            "the XML ends too early" if early else "the XML is broken",
            file=file,
            where=f"line {error.lineno} of {len(data)} bytes",
            why=expat.ErrorString(error.code),
            fix="convert or download the model again",
        ) from error
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        raise UnreadableModelError(
            "INVALID_GRAPH", "the XML is broken", file=file, why=str(error)
        ) from error
    assert builder.root is not None, "expat refuses a document without an element"
    return builder.root


def written(root: Element) -> bytes:
    """The tree as XML."""
    lines = ['<?xml version="1.0"?>']
    _write(root, 0, lines)
    return "\n".join(lines).encode() + b"\n"


def _write(element: Element, depth: int, lines: list[str]) -> None:
    quoted = {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
    given = {key: value for key, value in element.attributes.items() if key != TEXT}
    words = "".join(f' {key}="{escape(value, quoted)}"' for key, value in given.items())
    text, margin = element.attributes.get(TEXT, ""), "\t" * depth
    if text:
        lines.append(f"{margin}<{element.tag}{words}>{escape(text)}</{element.tag}>")
    elif not element.children:
        lines.append(f"{margin}<{element.tag}{words} />")
    else:
        lines.append(f"{margin}<{element.tag}{words}>")
        for child in element.children:
            _write(child, depth + 1, lines)
        lines.append(f"{margin}</{element.tag}>")
