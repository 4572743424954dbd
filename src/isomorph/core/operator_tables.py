"""What is particular to the operators of one framework, for modules that know no framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.onnx_nodes import OnnxNodes


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTables:
    """Facts about operators by their native names; a framework has one of these.

    ``own_options``: its nodes state parameters by names of its own, and not by those of ONNX.
    ``parameter_inputs`` are the parameters that an operator reads as inputs, with their places.
    ``option_values`` are the words that an option takes. ``option_names`` are its own names for
    a parameter of ONNX, one for each spatial axis where there are several. ``slice_bounds`` are
    the names of the first and second bound of a slice. ``linear_inputs`` are the places of
    data, weight and bias. ``clip_bounds`` are the bounds of an operator that states none,
    ``numbers_first`` the operators whose number is their first operand and not their second,
    ``filled_where`` those that read a tensor, a mask and what replaces the tensor where the
    mask holds. ``implied_constants`` and ``implied_operators`` appear where an operator is
    decomposed. ``shape_readers`` are the beginnings of names of operators that read a shape
    alone. ``run_time_quantizers`` are those whose kernel quantizes a float activation that meets
    stored integers, with the places of both. ``padded_channels`` is the beginning of names of
    operators whose weights are filled up with zeros to whole blocks of channels. ``custom``
    describes an operator that belongs to no standard, and is None for every other.
    ``in_onnx`` writes a node in ONNX's operators, and is False where it cannot; ``takes_onnx``
    where nodes of a model are added in ONNX's own operators.
    """

    own_options: bool = False
    parameter_inputs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    option_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    option_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slice_bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    linear_inputs: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    clip_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    numbers_first: frozenset[str] = frozenset()
    filled_where: frozenset[str] = frozenset()
    implied_constants: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    implied_operators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shape_readers: tuple[str, ...] = ()
    run_time_quantizers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    padded_channels: str | None = None
    custom: Callable[[str], str | None] = lambda _: None
    in_onnx: Callable[[Node, OnnxNodes], bool] = lambda _node, _into: False
    takes_onnx: bool = False


NO_TABLES = OperatorTables()
"""For operators that are named and described as ONNX does."""
