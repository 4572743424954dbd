"""A PyTorch model as a list of steps that can be entered and left at any value.

Exported programs and TorchScript graphs are both read into this one shape, so that there is
one interpreter for running them and one for their oracle. A step holds the operator itself;
nothing is translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from isomorph.core.model import Source


@dataclass(frozen=True, slots=True)
class Ref:
    """The place of a value in a step's arguments."""

    name: str


@dataclass(frozen=True, slots=True)
class Body:
    """The place of a branch or loop body in a step's arguments."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is declared of one value: ``dtype`` is torch's own, None where it is not a tensor.

    ``shape`` holds sizes and names of dynamic axes, and is None where nothing is declared.
    ``kind`` is ``tensor``, ``int``, ``float`` or ``bool`` (numbers that torch computes with).
    ``order`` lists the axes from the slowest in memory to the fastest, where it is not the usual
    one: a kernel that is fed a tensor in another order may add in another order.
    """

    dtype: Any = None
    shape: tuple[int | str | None, ...] | None = None
    kind: str = "tensor"
    order: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation: ``target(*args, **kwargs)`` with every ``Ref`` replaced by its value.

    ``outputs`` name the values it gives; ``listed``: it gives a sequence of them, in
    that order, rather than one. ``whole`` keeps that sequence itself under the step's name,
    for the rare step that takes it as one. ``bodies`` are the branches or the loop of a
    control-flow step, by the name of their argument.
    """

    name: str
    target: Callable[..., Any] | str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outputs: tuple[str, ...]
    listed: bool = False
    whole: bool = False
    bodies: Mapping[str, Program] = field(default_factory=dict)
    source: Source | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Every value it reads, in the order of its arguments, without repetition."""
        return tuple(dict.fromkeys(refs(self.args, self.kwargs)))

    @property
    def gives(self) -> tuple[str, ...]:
        """Every name it defines."""
        return (*self.outputs, self.name) if self.whole else self.outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Steps in order. ``constants`` are tensors by name, parameters and buffers included.

    ``fixed`` are the inputs that are not tensors and were frozen at export. ``origins`` map a
    constant to the name it has in the module's state, ``file_offsets`` to where its bytes begin.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    constants: Mapping[str, Any]
    specs: Mapping[str, Spec]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    file_offsets: Mapping[str, int] = field(default_factory=dict)


def refs(*values: Any) -> Iterator[str]:  # noqa: ANN401
    """The names of every ``Ref`` inside nested lists, tuples and mappings, in order."""
    for value in values:
        if isinstance(value, Ref):
            yield value.name
        elif isinstance(value, (list, tuple)):
            yield from refs(*value)
        elif isinstance(value, Mapping):
            yield from refs(*value.values())
        elif isinstance(value, slice):
            yield from refs(value.start, value.stop, value.step)


def replace_refs(value: Any, lookup: Callable[[str], Any]) -> Any:  # noqa: ANN401
    """``value`` with every ``Ref`` inside it replaced by what ``lookup`` gives."""
    if isinstance(value, Ref):
        return lookup(value.name)
    if isinstance(value, list):
        return [replace_refs(item, lookup) for item in value]
    if isinstance(value, tuple):
        return tuple(replace_refs(item, lookup) for item in value)
    if isinstance(value, Mapping):
        return {key: replace_refs(item, lookup) for key, item in value.items()}
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return slice(*(replace_refs(end, lookup) for end in ends))
    return value


def operator_name(target: Any) -> str:  # noqa: ANN401
    """``aten.conv2d.default``, ``higher_order.cond``, ``operator.add``: the word for users."""
    if isinstance(target, str):
        return target
    if hasattr(target, "overloadpacket"):
        return str(target)
    name = getattr(target, "__name__", type(target).__name__)
    if hasattr(target, "namespace") and hasattr(target, "dispatch"):
        return f"{target.namespace}.{name}"
    return f"{getattr(target, '__module__', '') or ''}.{name}".lstrip("._")


def packet_name(target: Any) -> str:  # noqa: ANN401
    """``conv2d`` of ``aten.conv2d.default``; other namespaces keep theirs: ``quantized.add``."""
    words = operator_name(target).split(".")
    return words[1] if words[0] == "aten" and len(words) > 1 else ".".join(words[:2])


def plain_word(step: Step) -> str:
    """``relu`` of ``aten.relu_.default``."""
    word = packet_name(step.target)
    return word if word.startswith("__") else word.rstrip("_")
