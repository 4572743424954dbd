"""Stacked recurrent layers, one step for each layer.

PyTorch computes a whole stack of LSTM, GRU or RNN layers in one call; other frameworks have a
node for each. Taken apart, every layer has its counterpart there, and a fault in the lowest is
not put down to the uppermost. The numbers are the same but for rounding: torch itself goes layer
by layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from isomorph.frameworks.pytorch.program import Program, Ref, Spec, Step, operator_name

_STATES = {
    "aten.lstm.input": 2,
    "aten.gru.input": 1,
    "aten.rnn_tanh.input": 1,
    "aten.rnn_relu.input": 1,
}
_ARGUMENTS = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train",
              "bidirectional", "batch_first")  # fmt: skip


def unstacked(program: Program) -> Program:
    """The program with a step for each layer of every stack that can be taken apart."""
    steps: list[Step] = []
    specs = dict(program.specs)
    for step in program.steps:
        stack = _stack(step)
        if stack is None:
            steps.append(step)
            continue
        steps += stack.steps()
        specs |= stack.specs(program.specs)
    if len(steps) == len(program.steps):
        return program
    return replace(program, steps=tuple(steps), specs=specs)


def _stack(step: Step) -> _Stack | None:
    """Several layers with nothing between them; None for anything else."""
    states = _STATES.get(operator_name(step.target))
    if states is None or step.whole or len(step.outputs) != 1 + states:
        return None
    # Fewer are refused below.
    given = dict(zip(_ARGUMENTS, step.args, strict=False)) | dict(step.kwargs)
    # Between the layers of a model in training values are dropped at random.
    if set(given) != set(_ARGUMENTS) or (given["train"] and given["dropout"]):
        return None
    layers, params = given["num_layers"], given["params"]
    starts = given["hx"] if states > 1 else [given["hx"]]
    if not isinstance(params, (list, tuple)) or not isinstance(starts, (list, tuple)):
        return None
    if not isinstance(layers, int) or layers < 2 or len(params) % layers or len(starts) != states:
        return None
    return _Stack(step=step, given=given, layers=layers, starts=tuple(starts), params=tuple(params))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stack:
    step: Step
    given: dict[str, Any]
    layers: int
    starts: tuple[Any, ...]
    params: tuple[Any, ...]

    @property
    def directions(self) -> int:
        return 2 if self.given["bidirectional"] else 1

    def steps(self) -> list[Step]:
        """For each layer its part of the initial state and its call; then the last states."""
        found: list[Step] = []
        x = self.given["input"]
        for layer in range(self.layers):
            begins = [self._begin(layer, kind) for kind in range(len(self.starts))]
            call = self._call(layer, x, [Ref(each.outputs[0]) for each in begins])
            found += [*begins, call]
            x = Ref(call.outputs[0])
        for kind, name in enumerate(self.step.outputs[1:]):
            ends = [Ref(self._outputs(layer)[1 + kind]) for layer in range(self.layers)]
            found.append(
                Step(
                    name=f"{self.step.name}_states{kind}", target=torch.ops.aten.cat.default,
                    args=(ends, 0), kwargs={}, outputs=(name,), source=self.step.source,
                )
            )  # fmt: skip
        return found

    def specs(self, known: Any) -> dict[str, Spec]:  # noqa: ANN401
        """What is declared of the values in between, from what is declared of the results."""
        found = {}
        for layer in range(self.layers):
            outputs = self._outputs(layer)
            for name, whole in zip(outputs, self.step.outputs, strict=True):
                spec = known.get(whole, Spec())
                found[name] = spec if name == outputs[0] else self._slice_of(spec)
            for kind in range(len(self.starts)):
                spec = known.get(self.step.outputs[1 + kind], Spec())
                found[self._started(layer, kind)] = self._slice_of(spec)
        return found

    def _slice_of(self, spec: Spec) -> Spec:
        shape = None if not spec.shape else (self.directions, *spec.shape[1:])
        return replace(spec, shape=shape, order=None)

    def _outputs(self, layer: int) -> tuple[str, ...]:
        name = f"{self.step.name}_layer{layer}"
        first = self.step.outputs[0] if layer == self.layers - 1 else f"{name}.0"
        return first, *(f"{name}.{1 + kind}" for kind in range(len(self.starts)))

    def _started(self, layer: int, kind: int) -> str:
        return f"{self.step.name}_layer{layer}_start{kind}"

    def _begin(self, layer: int, kind: int) -> Step:
        name, count = self._started(layer, kind), self.directions
        return Step(
            name=name, target=torch.ops.aten.slice.Tensor,
            args=(self.starts[kind], 0, layer * count, (layer + 1) * count), kwargs={},
            outputs=(name,), source=self.step.source,
        )  # fmt: skip

    def _call(self, layer: int, x: Any, begins: list[Ref]) -> Step:  # noqa: ANN401
        each = len(self.params) // self.layers
        own = {
            **self.given,
            "input": x,
            "hx": begins if len(begins) > 1 else begins[0],
            "params": list(self.params[layer * each : (layer + 1) * each]),
            "num_layers": 1,
        }
        last = layer == self.layers - 1
        return replace(
            self.step,
            name=self.step.name if last else f"{self.step.name}_layer{layer}",
            args=tuple(own[name] for name in _ARGUMENTS),
            kwargs={},
            outputs=self._outputs(layer),
        )
