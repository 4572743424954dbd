"""What the inputs and outputs of a decoder are for: tokens, masks, positions, caches, logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError, listed
from isomorph.core.model import Model
from isomorph.decoding.caches import (
    cache_inputs,
    constant_caches,
    only_read,
    recognized_caches,
    unpaired_inputs,
)
from isomorph.inputs.generate import table_size

if TYPE_CHECKING:
    from isomorph.core.decoding import CachePair
    from isomorph.core.model import Dimension, Graph, TensorSpec

_TOKEN_NAMES = ("input_ids", "decoder_input_ids", "token_ids", "tokens", "input_tokens", "ids")
_PAST_LENGTHS = ("past_sequence_length", "past_seq_len", "past_length", "start_pos", "past_len")


class Role(StrEnum):
    """What an input holds at each step."""

    TOKENS = "tokens"
    MASK = "mask"
    """Over all positions, those in the caches and those of the step."""
    POSITIONS = "positions"
    """Of the tokens of the step."""
    PAST_LENGTH = "past length"
    TOTAL_LENGTH = "total length"
    LAST_POSITION = "last position"
    """Of each row: the total length less one, as GroupQueryAttention takes it."""
    SWITCH = "cache switch"
    """Whether the caches hold anything."""
    CACHE = "cache"
    CONSTANT = "constant"
    """The same at every step: what an encoder returned, for example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderSignature:
    """The inputs of a decoder by their roles, its caches and its logits."""

    role: str
    graph: Graph
    roles: Mapping[str, Role]
    caches: tuple[CachePair, ...]
    tokens: TensorSpec
    logits: str
    vocabulary: int

    @property
    def fixed_tokens(self) -> int | None:
        """How many tokens each step takes; None where that is free."""
        shape = self.tokens.shape or ()
        size = shape[-1] if shape else None
        return size if isinstance(size, int) else None

    @property
    def batch_axis(self) -> Dimension:
        """The size of the batch, its name, or None where nothing is declared."""
        shape = self.tokens.shape or ()
        return shape[0] if len(shape) > 1 else 1

    @property
    def kept_caches(self) -> list[str]:
        """The inputs that are caches of an encoder: they stay the same at every step."""
        known = {pair.input for pair in self.caches}
        return [
            name
            for name in cache_inputs(self.graph)
            if name not in known and self.roles[name] is Role.CONSTANT
        ]

    def spec(self, name: str) -> TensorSpec:
        """What is declared of an input."""
        return next(spec for spec in self.graph.inputs if spec.name == name)

    def of_role(self, role: Role) -> list[TensorSpec]:
        """The inputs of a role."""
        return [spec for spec in self.graph.inputs if self.roles[spec.name] is role]


def decoder_signature(model: Model, role: str, stated: Mapping[str, str]) -> DecoderSignature:
    """The signature of a decoder; what is not recognized is an error that says how to state it."""
    graph = model.graph
    caches = recognized_caches(model, stated)
    unpaired = unpaired_inputs(graph, caches)
    held = {pair.input for pair in caches}
    held |= {*constant_caches(graph), *_caches_of_encoder(graph, unpaired, caches)}
    missing = [name for name in unpaired if name not in held]
    if missing:
        raise UsageError(
            "CACHE_NOT_RECOGNIZED",
            f"no output of the {role} was recognized as what input {missing[0]!r} takes next",
            why=f"inputs without one: {listed(missing)}; "
            f"outputs: {listed([spec.name for spec in graph.outputs])}",
            fix=f"state it: --cache {missing[0]}=OUTPUT",
        )
    tokens = _tokens(graph, [spec for spec in graph.inputs if spec.name not in held], role)
    if not caches and _counts_positions(graph):
        raise _cache_inside(graph, role)
    roles = {
        spec.name: Role.TOKENS if spec is tokens
        else Role.CACHE if any(spec.name == pair.input for pair in caches)
        else _role(spec, held)
        for spec in graph.inputs
    }  # fmt: skip
    rows = table_size(graph, tokens.name)
    logits = _logits(graph, caches, rows, role)
    size = (logits.shape or (None,))[-1]
    vocabulary = size if isinstance(size, int) else rows
    if vocabulary is None:
        raise UsageError(
            "NO_LOGITS",
            f"the {role} declares no number of tokens to choose from",
            why=f"output {logits.name!r} has a last axis of unknown size",
        )
    return DecoderSignature(
        role=role,
        graph=graph,
        roles=roles,
        caches=caches,
        tokens=tokens,
        logits=logits.name,
        vocabulary=min(vocabulary, rows or vocabulary),
    )


def _caches_of_encoder(
    graph: Graph, unpaired: Sequence[str], caches: Sequence[CachePair]
) -> list[str]:
    """Caches of an encoder, which a decoder takes and does not return: by name or data flow."""
    if not caches:
        return []
    named = [name for name in unpaired if {"encoder", "cross"} & set(_words(name))]
    return [*named, *only_read(graph, [name for name in unpaired if name not in named])]


def _words(name: str) -> list[str]:
    return "".join(each if each.isalnum() else " " for each in name.lower()).split()


def _tokens(graph: Graph, specs: Sequence[TensorSpec], role: str) -> TensorSpec:
    """The input of tokens: by its name, by the largest table it selects from, or the only one."""
    whole = [
        spec
        for spec in specs
        if (spec.dtype or "").startswith(("int", "uint"))
        and _role(spec, ()) in {Role.CONSTANT, Role.TOKENS}
        and 1 <= len(spec.shape or (1,)) <= 2
    ]
    named = [spec for name in _TOKEN_NAMES for spec in whole if spec.name == name]
    if named:
        return named[0]
    rows = {spec.name: table_size(graph, spec.name) or 0 for spec in whole}
    largest = max(rows.values(), default=0)
    found = [spec for spec in whole if rows[spec.name] == largest]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        "NO_TOKENS",
        f"no input of the {role} was recognized as its tokens",
        why=f"it takes: {listed([spec.name for spec in graph.inputs]) or 'nothing'}",
        fix="decoding needs one input of token ids, as input_ids; one step is compared without "
        "--decode",
    )


def _role(spec: TensorSpec, held: Sequence[str] | set[str]) -> Role:
    """The role of an input that is neither tokens nor a cache, by its name and type."""
    name, rank = spec.name.lower(), len(spec.shape or ())
    words = set(_words(name.replace("_", " ")))
    whole = (spec.dtype or "").startswith(("int", "uint"))
    if spec.name in held or ("encoder" in words and "decoder" not in words):
        return Role.CONSTANT
    if "mask" in name:
        return Role.MASK
    if spec.dtype == "bool" and "cache" in words:
        return Role.SWITCH
    if not whole:
        return Role.CONSTANT
    if "seqlens" in name or "seqlen" in words:
        return Role.LAST_POSITION
    if "total" in words and rank <= 1:
        return Role.TOTAL_LENGTH
    if rank <= 1 and any(word in name for word in _PAST_LENGTHS):
        return Role.PAST_LENGTH
    if "position" in name or words & {"pos", "positions"}:
        return Role.POSITIONS
    return Role.CONSTANT


def _logits(graph: Graph, caches: Sequence[CachePair], rows: int | None, role: str) -> TensorSpec:
    """The output of scores: by its name, by the size of its last axis, or the first one."""
    cached = {pair.output for pair in caches}
    floats = [
        spec
        for spec in graph.outputs
        if spec.name not in cached
        and "float" in (spec.dtype or "float")
        and len(spec.shape or (1, 1)) in {2, 3}
    ]
    named = [spec for spec in floats if "logits" in spec.name.lower()]
    sized = [spec for spec in floats if rows and (spec.shape or (None,))[-1] == rows]
    found = [*named, *sized, *floats]
    if not found:
        raise UsageError(
            "NO_LOGITS",
            f"no output of the {role} was recognized as the scores of the next token",
            why=f"its outputs: {listed([spec.name for spec in graph.outputs])}; "
            f"caches: {listed(sorted(cached)) or 'none'}",
        )
    return found[0]


def _counts_positions(graph: Graph) -> bool:
    """Whether a model without caches is fed positions of a cache: it keeps one inside."""
    return any("cache_position" in spec.name.lower() for spec in graph.inputs)


def _cache_inside(graph: Graph, role: str) -> UsageError:
    return UsageError(
        "CACHE_INSIDE",
        f"the {role} keeps its caches inside: it takes positions of a cache, and no cache",
        why=f"it takes: {listed([spec.name for spec in graph.inputs])}; what one run leaves in the "
        "model cannot be put there for the next",
        fix="export it with the caches as inputs and outputs",
    )
