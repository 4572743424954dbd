"""The options of the verbs, as dataclasses.

A verb takes inputs, and what is stated most often, as keywords. Everything else is grouped here;
``api.option_keywords`` accepts single fields as keywords, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[str, str], None]
"""Called with a phase and a detail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of each worker process."""

    memory: int | None = None
    """The most memory, in bytes."""
    timeout: float | None = None
    """The most seconds for loading, opening or running a model, without those during which the
    machine was busy with something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions:
    """Where models run, and what they are loaded with."""

    name: str | Mapping[str, str] | None = None
    """A runtime instead of the usual one; or one by side, as ``{"candidate": "openvino"}``."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the runtime; ``candidate.key`` is for one side."""
    state: str | Path | None = None
    """Weights (safetensors) for a model that a factory builds."""
    ops: Sequence[str] = ()
    """Modules that define custom operators."""
    limits: Limits = field(default_factory=Limits)
    """Limits of each worker process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """How two models correspond, and where they run."""

    bind_inputs: Mapping[str, str] = field(default_factory=dict)
    """The candidate's input for an input of the reference."""
    bind_outputs: Mapping[str, str] = field(default_factory=dict)
    """The candidate's output for an output of the reference."""
    layouts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The reference's axes in the order that an input or output of the candidate has."""
    translation_only: bool = False
    """Ask about the graphs alone where this machine cannot run a model (Core ML needs macOS)."""
    runtime: RuntimeOptions = field(default_factory=RuntimeOptions)
    """Where the models run, and what they are loaded with."""

    @property
    def axis_orders(self) -> dict[str, tuple[int, ...]]:
        """The layouts as tuples."""
        return {name: tuple(axes) for name, axes in self.layouts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(PairOptions):
    """What a check compares, how far it goes, and how its result is judged."""

    sizes: Mapping[str, Sequence[int]] | None = None
    """Further sizes of dynamic axes to try; None tries a few on generated inputs."""
    metric: str | Callable[..., float] | None = None
    """A function of (outputs, sample), or ``package.module:function``; its mean over a test set
    is reported for both models."""
    strict: bool = False
    """Whether the exit code is 1 for a fault that rounding hides, too."""
    only_given: bool = False
    """Restrict the question to the given inputs: a weight or an attribute that differs without
    effect on them is a finding, and does not change the verdict."""
    quick: bool = False
    """Compare the outputs only, on the given inputs or one generated input: no search for faults,
    no comparison of weights, no other sizes."""
    prove: bool = False
    """Whether to prove as well, as ``isomorph.prove`` does, from the same opened models."""
    locate: bool = True
    """Whether to search for the nodes at fault."""
    align: bool | None = None
    """Pair every tensor of the two graphs; None: where faults are searched anyway."""
    quantization: bool | None = None
    """Measure every quantized tensor, or none; None: up to a few hundred."""
    profile: bool | None = False
    """Keep the error of every node, for the HTML page; None: where faults are searched anyway."""
    baseline: str | Path | None = None
    """A file of divergences that were examined and accepted (``isomorph accept``)."""
    pair: str | None = None
    """The name of this pair in the baseline; None: the locations of the models."""
    decode: int | None = None
    """Decode so many tokens with both models, and compare them at every step; the inputs are a
    prompt, or one is generated."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """Of a decoder, the output that returns what an input takes at the next step, where that is
    not recognized."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How a conversion is made and proven."""

    opset: int | None = None
    """The opset of an ONNX file."""
    sizes: Mapping[str, Sequence[int]] | None = None
    """Further sizes of dynamic axes on which the result is checked."""
    ranges: Mapping[str, Sequence[float]] | None = None
    """The least and largest number of each input. Nodes that are not proven to stay within float16
    for all such inputs stay in float32."""
    translation_only: bool = False
    """Ask about the graphs alone where this machine cannot run a result (Core ML needs macOS)."""
    state: str | Path | None = None
    """Weights (safetensors) for a model that a factory builds."""
    limits: Limits = field(default_factory=Limits)
    """Limits of each worker process."""
