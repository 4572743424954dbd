"""Forms of ATen operators: those of one argument, and the samples of PyTorch's own tests."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import TestCase

import numpy as np
import torch

from networks.operators.form import Form, called, defined, usable

SAMPLES = 12
"""Of each operator; forms with other arguments come early in its list."""


def forms(wanted: Sequence[str]) -> Iterator[Form]:
    """Of operators that are called so; those of one argument first."""
    yield from _of_one_argument(wanted)
    torch.manual_seed(0)
    yield from (form for form in _recurrent() if called(form.op, wanted))
    for info in _tested():
        if not called(f"{info.name} {info.aten_name}", wanted):
            continue
        seen: set[str] = set()
        try:
            samples = info.sample_inputs("cpu", torch.float32)
            for _, sample in zip(range(SAMPLES), samples, strict=False):
                form = _sampled(info, sample, seen)
                if form is not None:
                    yield form
        except Exception:  # the registry itself is not ours; what it cannot make is not measured
            continue


def write(path: Path, chosen: Mapping[str, Form]) -> dict[str, Any]:
    """One program of these forms side by side; its arguments by name."""
    side = _Side([form.native for form in chosen.values()]).eval()
    with torch.no_grad():
        program = torch.export.export(side, _example(*chosen.values()))
    torch.export.save(program, path)
    names = program.graph_signature.user_inputs
    return dict(zip(names, [form.given for form in chosen.values()], strict=True))


def _example(*forms: Form) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(form.given) for form in forms)


class _Side(torch.nn.Module):
    def __init__(self, calls: Sequence[Any]) -> None:
        super().__init__()
        self.calls = [call for call, _ in calls]
        for place, (_, constants) in enumerate(calls):
            for name, constant in constants.items():
                self.register_buffer(f"c{place}_{name}", constant.clone())

    def forward(self, *given: Any) -> Any:
        def constants(place: int) -> dict[str, Any]:
            start = f"c{place}_"
            return {
                k.removeprefix(start): v for k, v in self._buffers.items() if k.startswith(start)
            }

        return tuple(call(given[place], constants(place)) for place, call in enumerate(self.calls))


def _of_one_argument(wanted: Sequence[str]) -> Iterator[Form]:
    for name in sorted(dir(torch.ops.aten)):
        packet = getattr(torch.ops.aten, name)
        if not called(name, wanted) or name.startswith("_"):
            continue
        if "default" not in getattr(packet, "overloads", list)():
            continue
        given = packet.default._schema.arguments
        plain = len(given) > 0 and str(given[0].type) == "Tensor"
        rest = all(each.has_default_value() for each in given[1:])
        writes = packet.default._schema.is_mutable
        random = torch.Tag.nondeterministic_seeded in packet.default.tags
        if plain and rest and not writes and not random:
            x = defined(lambda x, op=packet.default: op(torch.from_numpy(x)))
            if x is not None:
                call = (lambda x, _, op=packet.default: op(x), {})
                yield Form(op=f"aten.{name}.default", given=x, native=call)


def _recurrent() -> Iterator[Form]:
    """Recurrent layers in both directions and layouts; PyTorch tests them elsewhere."""
    layers = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM, "rnn_tanh": torch.nn.RNN}
    flags = itertools.product((False, True), repeat=3)
    for (name, layer), (first, both, bias) in itertools.product(layers.items(), flags):
        network = layer(3, 4, batch_first=first, bidirectional=both, bias=bias).eval()
        weights = {f"w{place}": w.detach() for place, w in enumerate(network.parameters())}
        state = torch.zeros(2 if both else 1, 2, 4)
        start = (state, state) if name == "lstm" else state
        op = getattr(torch.ops.aten, name).input

        def call(x, stored, op=op, start=start, settings=(first, both, bias)):
            first, both, bias = settings
            return op(x, start, list(stored.values()), bias, 1, 0.0, False, both, first)[0]

        x = torch.randn(2, 5, 3) if first else torch.randn(5, 2, 3)
        yield Form(op=f"aten.{name}.input", given=x.numpy(), native=(call, weights))


def _tested() -> Sequence[Any]:
    """PyTorch's list of operators with samples; its tests want a package that it does not use."""
    if "expecttest" not in sys.modules:
        stand_in = ModuleType("expecttest")
        stand_in.TestCase = TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return [info for info in op_db if torch.float32 in info.dtypes]


def _sampled(info: Any, sample: Any, seen: set[str]) -> Form | None:
    """The sample as a form, where it is one operator, and nothing like it was seen yet."""
    if not isinstance(sample.input, torch.Tensor):
        return None
    given = sample.input.detach().contiguous().numpy()
    tensors: dict[str, Any] = {}

    def kept(value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            tensors[name] = value.detach().contiguous()
            return lambda constants: constants[name]
        return lambda _: value

    args = [kept(value, f"a{place}") for place, value in enumerate(sample.args)]
    words = {key: kept(value, key) for key, value in sample.kwargs.items()}

    def call(x: Any, constants: Mapping[str, Any], op: Any = info.op) -> Any:
        result = op(x, *(a(constants) for a in args), **{k: w(constants) for k, w in words.items()})
        return result[0] if isinstance(result, (tuple, list)) else result

    try:
        result = call(torch.from_numpy(given), tensors)
        if not isinstance(result, torch.Tensor) or not usable(given, np.asarray(result.detach())):
            return None
        program = torch.export.export(_Side([(call, tensors)]), (torch.from_numpy(given),))
    except Exception:
        return None
    nodes = [
        node for node in program.graph.nodes
        if node.op == "call_function" and "getitem" not in str(node.target)
    ]  # fmt: skip
    if len(nodes) != 1 or "aten" not in str(nodes[0].target):
        return None
    node, op = nodes[0], nodes[0].target
    if op._schema.is_mutable or torch.Tag.nondeterministic_seeded in op.tags:
        return None
    # Sizes do not make another form; words, flags and ranks do.
    plain = [v for v in (*node.args[1:], *node.kwargs.values()) if isinstance(v, (str, bool))]
    key = str((str(op), given.ndim, str(given.dtype), len(tensors), plain))
    if key in seen:
        return None
    seen.add(key)
    return Form(op=str(op), given=given, native=(call, tensors))
