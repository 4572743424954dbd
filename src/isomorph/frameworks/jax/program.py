"""A StableHLO program as nodes on named tensors, with its calls written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.model import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxTensor:
    """What is declared of a tensor; a size is None where it is dynamic."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxNode:
    """One operation. Tensors that a body reads from around it are among ``inputs`` behind its own.

    ``operands`` is how many of ``inputs`` the operation itself takes.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operands: int
    attributes: Mapping[str, Any]
    bodies: Mapping[str, JaxBody] = field(default_factory=dict)
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxBody:
    """A region of an operation: what it is given, its nodes, its constants, what it returns."""

    inputs: tuple[str, ...]
    nodes: tuple[JaxNode, ...]
    outputs: tuple[str, ...]
    own_constants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxProgram:
    """The main function.

    ``constants`` are the attributes that hold stored values, in bodies as well. ``values`` are the
    results and arguments of the module by the names of their tensors. ``kept`` are the places of
    the arguments that the module reads. ``module`` is the StableHLO module with its calls written
    out, ``exported`` the function as JAX deserialized it, and ``data`` the bytes of the file.
    ``calls`` are the libraries that the module calls by name on any platform, and ``by_platform``
    says whether another of its platforms computes other operations than those read.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[JaxNode, ...]
    tensors: Mapping[str, JaxTensor]
    constants: Mapping[str, Any]
    values: Mapping[str, Any]
    kept: tuple[int, ...]
    platforms: tuple[str, ...]
    dynamic: bool
    keyed: bool
    module: Any
    exported: Any
    data: bytes
    calls: frozenset[str] = frozenset()
    by_platform: bool = False

    def all_nodes(self) -> Iterator[JaxNode]:
        """Every node, those of bodies behind the node that holds them."""
        return _all_nodes(self.nodes)

    @property
    def stored(self) -> frozenset[str]:
        """The constants of the main function, without those of bodies."""
        inner = {
            name
            for node in self.all_nodes()
            for body in node.bodies.values()
            for name in body.own_constants
        }
        return frozenset(self.constants) - inner


def _all_nodes(nodes: tuple[JaxNode, ...]) -> Iterator[JaxNode]:
    for node in nodes:
        yield node
        for body in node.bodies.values():
            yield from _all_nodes(body.nodes)
