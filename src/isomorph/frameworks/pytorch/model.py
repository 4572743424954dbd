"""A PyTorch model in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isomorph.core.model import LoadFact
from isomorph.frameworks.pytorch.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchModel:
    """The steps, and the object that is deployed.

    ``kind`` is ``exported``, ``script`` or ``module``. One that is not ``cuttable`` writes into
    memory that is read elsewhere, or decides in Python: its steps hold for one run only, and its
    session gives outputs from inputs only. Where ``whole`` is set, torch's own object has not been
    loaded: its steps are all that most runs need, and ``complete`` loads it for the others.
    ``release`` lets go of weights that can be read from the file again.
    """

    kind: str
    program: Program
    deployed: Any = None
    exported: Any = None
    cuttable: bool = True
    load_facts: Mapping[LoadFact, str] = field(default_factory=dict)
    whole: Callable[[], TorchModel] | None = None
    release: Callable[[], None] = lambda: None

    def complete(self) -> TorchModel:
        """The same model with torch's own object."""
        return self if self.whole is None else self.whole()

    def call(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Run the deployed object; its outputs by their names in the program."""
        from torch.utils import _pytree as pytree

        args, kwargs = self.arguments(values)
        leaves = pytree.tree_leaves(self.deployed(*args, **kwargs))
        if self.exported is None:
            return dict(zip(self.program.outputs, leaves, strict=True))
        specs = self.exported.graph_signature.output_specs
        returned = [entry for entry in specs if entry.kind.name == "USER_OUTPUT"]
        # The program's own names: functionalization may have renamed what the signature names.
        names = iter(self.program.outputs)
        return {
            next(names): leaf
            for entry, leaf in zip(returned, leaves, strict=True)
            if not hasattr(entry.arg, "value")
        }

    def arguments(self, values: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Positional and named arguments, nested as the model's own signature wants them."""
        if self.kind == "module":
            return (), {
                **self.program.fixed,
                **{name: values[name] for name in self.program.inputs},
            }
        if self.exported is None:
            return [values[name] for name in self.program.inputs], {}
        from torch.utils import _pytree as pytree

        specs = self.exported.graph_signature.input_specs
        flat = [
            entry.arg.value if hasattr(entry.arg, "value") else values[entry.arg.name]
            for entry in specs
            if entry.kind.name == "USER_INPUT"
        ]
        args, kwargs = pytree.tree_unflatten(flat, self.exported.call_spec.in_spec)
        return args, kwargs
