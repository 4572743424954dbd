"""One program in ExecuTorch's runtime: the whole as deployed, or node by node.

A node that is looked at is cut out of the file and loaded as a program of its own, so every tensor
can be fed and fetched, those inside an XNNPACK delegate too. ExecuTorch's own record of a run
(ETDump) holds the results of instructions alone, to which a delegate is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from executorch.extension.pybindings import _C

from isomorph.core.cutting import refuse_noise, require_known, unfed_inputs, walk_back
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.kept_pieces import KeptPieces
from isomorph.core.patch import Patch, SetConstant
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.executorch.cut import Cutter
from isomorph.frameworks.executorch.edit import patched
from isomorph.frameworks.executorch.method import LoadedMethod, argument
from isomorph.frameworks.executorch.read import parsed
from isomorph.store.dtypes import same_bits

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays
    from isomorph.frameworks.executorch.program import PteNode, PteProgram

_MOVED = frozenset({"executorch.view", "executorch.output", "executorch.move",
                    "xnnpack.Boundary", "xnnpack.Layout"})  # fmt: skip
"""Nodes of the description for which the program has no kernel: they name memory anew."""
_KEPT = 64
"""Nodes that stay loaded: whoever looks at one comes back to it."""


class ExecutorchSession:
    """A loaded program, and single nodes of it once they are asked for."""

    def __init__(
        self, model: Model, environment: Environment, settings: Mapping[str, str], threads: int
    ) -> None:
        self._program: PteProgram = model.native
        self._file = model.location
        _C._unsafe_reset_threadpool(threads)
        self._deployed = self._loaded(bytes(self._program.data), self._program.method)
        self._cutter = Cutter(self._program)
        self._alone: KeptPieces[LoadedMethod] = KeptPieces(_KEPT)
        whole = self._cutter.complete
        self.capabilities = (
            Capabilities() if whole else Capabilities(fetch="outputs", feed="inputs")
        )
        release = version("executorch")
        facts = {
            "executorch": release,
            "delegates": ", ".join(dict.fromkeys(self._program.delegates)) or "none",
        }
        inside = {"inside": "every node that is looked at is loaded by itself"} if whole else {}
        self.environment = replace(
            environment,
            version=release,
            device="cpu",
            threads=threads,
            settings=settings,
            facts={**environment.facts, **facts, **inside},
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; ``capabilities`` say which tensors they may name."""
        refuse_noise(noise, "ExecuTorch")
        program = self._program
        require_known((*feeds, *fetch), program.tensors)
        given = {name: np.asarray(value) for name, value in feeds.items()
                 if not self._is_own(name, value)}  # fmt: skip
        found = {**given, **self._stored([name for name in fetch if name not in given])}
        wanted = [name for name in dict.fromkeys(fetch) if name not in found]
        ends = set(given) <= set(program.inputs) and set(wanted) <= set(program.outputs)
        if wanted and ends and set(program.inputs) <= set(given):
            found.update(zip(program.outputs, self._whole(given), strict=True))
        elif wanted and self.capabilities.fetch == "all":
            found.update(self._node_by_node(given, wanted))
        elif wanted and ends:
            missing = [name for name in program.inputs if name not in given]
            raise unfed_inputs(missing, wanted[0], file=self._file)
        elif wanted:
            raise UsageError(
                "NOT_CUTTABLE",
                "runtime 'executorch' runs a program whole, from all inputs to outputs",
                file=self._file,
                why="rows are quantized in it as it runs, and their scales exist in XNNPACK alone",
            )
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of the program and its nodes."""
        self._alone.clear()
        del self._deployed

    def _stored(self, names: Sequence[str]) -> dict[str, Array]:
        arrays = {name: self._program.tensors[name].array() for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def _is_own(self, name: str, value: Any) -> bool:  # noqa: ANN401
        """Whether a fed constant has the file's own values."""
        own = self._program.tensors[name].array()
        return own is not None and same_bits(np.asarray(value), own)

    def _whole(self, given: Mapping[str, Array]) -> list[Array]:
        program, names = self._program, iter(self._program.inputs)
        arguments = [
            program.given[place]
            if place in program.given
            else argument(program.tensors[name := next(names)], given[name])
            for place in range(len(program.inputs) + len(program.given))
        ]
        return self._deployed.run(arguments, file=self._file)

    def _node_by_node(self, given: Mapping[str, Array], wanted: Sequence[str]) -> dict[str, Array]:
        program, cutter = self._program, self._cutter
        other = {name: value for name, value in given.items() if self._stored([name])}
        if other:
            edits = tuple(SetConstant(tensor=name, value=value) for name, value in other.items())
            data = patched(program, Patch(summary="", edits=edits))
            program = parsed(data, file=self._file)
            cutter = Cutter(program)
        makers = {name: node for node in program.nodes for name in node.outputs}
        order = {node.name: place for place, node in enumerate(program.nodes)}
        needed, ends = walk_back(
            wanted,
            given,
            lambda name: node.name if (node := makers.get(name)) is not None else None,
            lambda name: [each for each in program.nodes[order[name]].inputs if each],
        )
        missing = [name for name in ends if program.tensors[name].data is None]
        if missing:
            raise unfed_inputs(missing, wanted[0], file=self._file)
        known = dict(given)
        for place in sorted(order[name] for name in needed):
            node = program.nodes[place]
            results = self._result(node, program, cutter, known, fresh=bool(other))
            pairs = zip(node.outputs, results, strict=True)
            known |= {name: array for name, array in pairs if name not in given}
        return {name: known[name] for name in wanted}

    def _result(
        self,
        node: PteNode,
        program: PteProgram,
        cutter: Cutter,
        known: Mapping[str, Array],
        *,
        fresh: bool,
    ) -> list[Array]:
        """What one node computes; ``fresh``: of a program that is not the file's."""
        values = {
            name: known.get(name, program.tensors[name].array()) for name in node.inputs if name
        }
        if node.native_op in _MOVED:
            return [_moved(node, values[node.inputs[0]], program.tensors[node.outputs[0]].shape)]
        read = {name: value for name, value in values.items() if cutter.is_entered(node, name)}
        numbers = {n: np.asarray(v).item() for n, v in read.items() if cutter.is_number(n)}
        fed = [name for name in read if name not in numbers]

        def load() -> LoadedMethod:
            return self._loaded(cutter.node(node, fed, numbers), program.method)

        key = (node.name, tuple(numbers.items()))
        loaded = load() if fresh else self._alone.get(key, load)
        arguments = [argument(program.tensors[name], read[name]) for name in fed]
        results = loaded.run(arguments, file=self._file)
        shapes = [program.tensors[name].shape for name in node.outputs]
        return [_shaped(array, shape) for array, shape in zip(results, shapes, strict=True)]

    def _loaded(self, data: bytes, method: str) -> LoadedMethod:
        try:
            return LoadedMethod(data, method)
        except RuntimeError as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> UnreadableModelError:
        known = {name.replace("::", ".") for name in _C._get_operator_names()}
        lacking = [
            node
            for node in self._program.nodes
            if not node.native_op.startswith(("xnnpack.", "executorch."))
            and node.native_op not in known
        ]
        if lacking:
            return UnreadableModelError(
                "UNSUPPORTED_OP",
                f"this build of ExecuTorch has no kernel for {lacking[0].native_op}",
                file=self._file,
                where=lacking[0].name,
                fix="lower the model without it, or run it where its kernels are linked",
            )
        return UnreadableModelError(
            "RUNTIME_REFUSED",
            "ExecuTorch does not load this program",
            file=self._file,
            why=str(error),
        )


def _moved(node: PteNode, value: Any, shape: tuple[int | None, ...]) -> Array:  # noqa: ANN401
    """A value under another name, in another shape or order of axes."""
    if node.native_op == "xnnpack.Layout":
        return np.ascontiguousarray(np.transpose(value, node.attributes["perm"]))
    if node.native_op != "executorch.view":
        return _shaped(np.asarray(value), shape)
    if shape.count(None) > 1:
        raise RuntimeFailedError(
            "RUNTIME_FAILED",
            f"the sizes of {node.outputs[0]!r} are known in the whole run alone",
            where=node.name,
        )
    return np.reshape(value, [-1 if size is None else size for size in shape])


def _shaped(array: Array, shape: tuple[int | None, ...]) -> Array:
    """With the declared axes: of one number, XNNPACK's graph has an axis, and the program none."""
    return array if None in shape else array.reshape([size or 0 for size in shape])
