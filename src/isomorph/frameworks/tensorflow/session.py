"""One loaded TensorFlow model: as deployed where nothing is cut, the frozen graph where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from isomorph.core.cutting import outputs_only
from isomorph.core.errors import (
    RuntimeFailedError,
    UnreadableModelError,
    UsageError,
    message_lines,
)
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.tensorflow.cut import Cut, cut
from isomorph.frameworks.tensorflow.function_library import Library
from isomorph.frameworks.tensorflow.inline import switched
from isomorph.frameworks.tensorflow.model import Call, TfModel
from isomorph.frameworks.tensorflow.program import Spec, TfProgram
from isomorph.frameworks.tensorflow.tensor_lists import make_list, read_list
from isomorph.frameworks.tensorflow.tensor_specs import unknown_ops

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays

_META = "disable_meta_optimizer"


class TfSession:
    """Runs the deployed function, or cuts of the frozen program."""

    def __init__(
        self,
        model: TfModel,
        environment: Environment,
        *,
        eager: bool,
        grappler: bool,
        compiled: bool,
    ) -> None:
        refuse_unsupported(model.program)
        if eager and model.eager is None:
            raise _no_eager(model.kind)
        self.environment = environment
        self._program, self._grappler, self._compiled = model.program, grappler, compiled
        # A compiled function has to be traced anew; the frozen graph has the same constants.
        self._deployed: Call | None = model.eager if eager else None if compiled else model.graph
        self._outputs = [port.tensor for port in model.program.outputs]
        self._library = Library(model.program)
        self._cuts: dict[tuple[frozenset[str], tuple[str, ...]], Cut] = {}
        lists = compiled and _has_lists(model.program)
        whole = eager or lists or switched(model.program.graph_def)
        self.capabilities = Capabilities(
            fetch="outputs" if whole else "all", feed="inputs" if whole else "all"
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``, in the declared types."""
        if noise is not None:
            raise UsageError("NO_NOISE", "runtime 'tensorflow' cannot disturb its arithmetic",
                             fix="use runtime 'tensorflow_oracle'")  # fmt: skip
        inputs = [port.tensor for port in self._program.inputs]
        uncut = set(fetch) <= set(self._outputs) and set(feeds) == set(inputs)
        with self._switches(), _failures():
            if uncut and self._deployed is not None:
                given = [self._fed(name, feeds[name]) for name in inputs]
                found = dict(zip(self._outputs, self._deployed(given), strict=True))
            elif not uncut and self.capabilities.fetch == "outputs":
                raise outputs_only(
                    fetch,
                    self._outputs,
                    why="an eager Keras model, a loop compiled by XLA and TensorFlow 1's loops "
                    "are not cut",
                    fix="--set mode=graph --set xla=no",
                )
            else:
                found = self._run_cut(feeds, fetch)
            return {
                name: self._fetched(name, found[name]) if name in found else feeds[name]
                for name in fetch
            }

    def close(self) -> None:
        """Let go of the functions and the variables they hold."""
        self._cuts.clear()
        self._deployed = None
        self._library.close()

    def _run_cut(self, feeds: Arrays, fetch: Sequence[str]) -> dict[str, Any]:
        key = frozenset(feeds), tuple(fetch)
        if key not in self._cuts:
            self._cuts[key] = cut(self._program, self._library, *key, compiled=self._compiled)
        made = self._cuts[key]
        if not made.gives:
            return {}
        results = made.call(*(self._fed(name, feeds[name]) for name in made.takes))
        return dict(zip(made.gives, results, strict=True))

    def _fed(self, name: str, value: Any) -> Any:  # noqa: ANN401
        spec = self._program.specs.get(name, Spec())
        if spec.kind == "sequence":
            return make_list(value, spec.dtype or "float32")
        array = np.asarray(value)
        if spec.dtype in {None, "string"}:
            return tf.constant(array)
        kind = tf.dtypes.as_dtype(spec.dtype)
        if kind.is_floating != _is_float(array) and array.dtype.kind != "b":
            raise UsageError(
                "WRONG_DTYPE",
                f"tensor {name!r} holds {spec.dtype}, but {array.dtype} was fed",
                fix="feed an array of the declared type",
            )
        return tf.constant(array.astype(kind.as_numpy_dtype, copy=False))

    def _fetched(self, name: str, tensor: Any) -> Any:  # noqa: ANN401
        if tensor.dtype == tf.variant:
            spec = self._program.specs.get(name, Spec())
            return read_list(tensor, spec.dtype or "float32")
        array = np.asarray(tensor.numpy())
        if tensor.dtype == tf.string:
            words = [word.decode("utf-8", "surrogateescape") for word in array.reshape(-1)]
            return np.array(words, dtype=object).reshape(array.shape)
        return array

    @contextmanager
    def _switches(self) -> Iterator[None]:
        """The graph optimizer is the process's own, so it is put back."""
        before = tf.config.optimizer.get_experimental_options().get(_META, False)
        tf.config.optimizer.set_experimental_options({_META: not self._grappler})
        try:
            yield
        finally:
            tf.config.optimizer.set_experimental_options({_META: before})


def _has_lists(program: TfProgram) -> bool:
    """XLA cannot hand a TensorList out or take one in."""
    return any(spec.kind == "sequence" for spec in program.specs.values())


def _is_float(array: Any) -> bool:  # noqa: ANN401
    return bool(tf.dtypes.as_dtype(array.dtype).is_floating)


def refuse_unsupported(program: TfProgram) -> None:
    """Refuse operators that this TensorFlow does not have, by name."""
    for operator, nodes in sorted(unknown_ops(program.graph_def).items()):
        raise UnreadableModelError(
            "UNSUPPORTED_OP", f"TensorFlow {tf.__version__} has no operator {operator!r}",
            where=f"node {nodes[0]!r}" + (f" and {len(nodes) - 1} more" if nodes[1:] else ""),
            fix="install the package that registers the operator",
        )  # fmt: skip


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        raise RuntimeFailedError(
            "OUT_OF_MEMORY", "TensorFlow ran out of memory", why=_first_line(error),
            fix="use smaller inputs, or allow more with --memory",
        ) from error  # fmt: skip
    except (tf.errors.OpError, ValueError, TypeError) as error:
        raise RuntimeFailedError(
            "RUNTIME_FAILED", "TensorFlow could not run the model", why=_first_line(error)
        ) from error


def _first_line(error: Exception) -> str:
    lines = message_lines(error)
    own = [line for line in lines if not line.startswith(("Detected at node", "Graph execution"))]
    return (own or lines or [type(error).__name__])[0][:300]


def _no_eager(kind: str) -> UsageError:
    return UsageError(
        "NO_EAGER", f"a model of kind {kind!r} cannot run eagerly",
        why="only a Keras model keeps the Python that eager execution follows",
        fix="--set mode=graph",
    )  # fmt: skip
