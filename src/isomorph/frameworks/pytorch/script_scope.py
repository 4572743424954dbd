"""What is known while a TorchScript graph is read, and how its values are called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.core.model import Source
from isomorph.frameworks.pytorch.program import Spec, Step

Structure = Any
"""A value that is known while reading: a number, None, or lists and tuples around ``Ref``."""


@dataclass(slots=True)
class Scope:
    """What reading has found so far in one block and those around it."""

    prefix: str
    known: dict[str, Structure]
    names: dict[str, str]
    parameters: frozenset[str]
    constants: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    def inside(self, prefix: str) -> Scope:
        """A scope for a block: it sees what is known outside, and shares the constants."""
        inner = Scope(prefix, dict(self.known), self.names, self.parameters)
        inner.constants, inner.origins, inner.specs = self.constants, self.origins, self.specs
        inner.writes = self.writes
        return inner


def structure(scope: Scope, value: Any) -> Structure:  # noqa: ANN401
    """The value itself where it is known, else a ``Ref``."""
    return scope.known[value.debugName()]


def path_of(scope: Scope, owner: Any, name: str) -> str:  # noqa: ANN401
    """Where in the module an attribute lives."""
    above = scope.names.get(owner.debugName(), "")
    return f"{above}.{name}" if above else name


def named(scope: Scope, node: Any, value: Any) -> str:  # noqa: ANN401
    """What a value is called in the program."""
    # A bare number is no description; the operator in front of it is one.
    word, name = node.kind().partition("::")[2], value.debugName()
    return f"{word.rstrip('_')}_{name}" if name.isdigit() else name


def input_spec(value: Any, argument: Any) -> Spec:  # noqa: ANN401
    """What is declared of an input; only tensors and numbers may be inputs."""
    kind = value.type().kind()
    if kind == "TensorType":
        return _tensor_spec(value)
    if kind in {"IntType", "FloatType", "BoolType"}:
        return Spec(kind=kind.removesuffix("Type").lower(), shape=())
    raise UnreadableModelError(
        "UNSUPPORTED_INPUT",
        f"input {argument.name!r} is of type {value.type()}",
        why="inputs of a TorchScript model must be tensors or numbers",
        fix="wrap the model in a module that takes tensors, and save that",
    )


def _tensor_spec(value: Any) -> Spec:  # noqa: ANN401
    kind = value.type()
    sizes = kind.sizes() if hasattr(kind, "sizes") else None
    return Spec(
        dtype=kind.dtype() if hasattr(kind, "dtype") else None,
        shape=None if sizes is None else tuple(sizes),
    )


def output_spec(value: Any) -> Spec:  # noqa: ANN401
    """What is declared of a computed value."""
    kind = value.type().kind()
    if kind == "TensorType":
        return _tensor_spec(value)
    if kind in {"IntType", "FloatType", "BoolType"}:
        return Spec(kind=kind.removesuffix("Type").lower(), shape=())
    if kind == "OptionalType" and "Tensor" in str(value.type()):
        return Spec()
    return Spec(kind="list" if kind == "ListType" else "other")


def needed(steps: list[Step], outputs: tuple[str, ...]) -> tuple[Step, ...]:
    """The steps that lead to ``outputs``; what is left over only fed assertions."""
    wanted = set(outputs)
    kept = []
    for step in reversed(steps):
        if wanted.intersection(step.gives):
            kept.append(step)
            wanted.update(step.needs)
    return tuple(reversed(kept))


_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def source_of(scope: Scope, node: Any, weights: Iterable[str] = ()) -> Source | None:  # noqa: ANN401
    """The module path and the line, as far as the file kept them.

    Where it kept no scopes, a node belongs to the module whose weights it reads.
    """
    # Scopes read S::/torch.nn.modules.conv.Conv2d::c: what stands last after :: is the path.
    pieces = [piece.rpartition("::")[2] for piece in node.scopeName().split("/")]
    module = ".".join(piece for piece in pieces if piece)
    owners = [scope.origins[name].rpartition(".")[0] for name in weights if name in scope.origins]
    module = module or next(iter(owners), "")
    place = _PLACE.search(node.sourceRange())
    if not module and place is None:
        return None
    return Source(
        module=module,
        file=place["file"] if place else None,
        line=int(place["line"]) if place else None,
    )
