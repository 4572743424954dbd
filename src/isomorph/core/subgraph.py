"""A part of a model, to be cut out as a model of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The nodes between some tensors and some others.

    ``feeds`` become the inputs and ``fetch`` the outputs, each in this order. With ``node`` and
    ``body``, both are tensors of that body of that node (or outer tensors that it captures), and
    the body is what is cut out.
    """

    feeds: tuple[str, ...]
    fetch: tuple[str, ...]
    node: str | None = None
    body: str | None = None
