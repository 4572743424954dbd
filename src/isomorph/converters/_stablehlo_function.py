"""A StableHLO program as a Python function of JAX again, for converters that trace one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.jax.eval_control import keys_of
from isomorph.frameworks.jax.eval_steps import REPLACED, compiled, joined_by, stored_value
from isomorph.frameworks.jax.mlir_values import array_of
from isomorph.frameworks.jax.op_names import native, reducer
from isomorph.frameworks.jax.program import JaxBody, JaxNode, JaxProgram
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.weights import WeightCache

Values = dict[str, Any]

_PLAIN: Mapping[str, Callable[..., Any]] = {
    "add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "divide": lax.div,
    "power": lax.pow, "remainder": lax.rem, "minimum": lax.min,
    "abs": lax.abs, "negate": lax.neg, "sign": lax.sign, "exponential": lax.exp,
    "exponential_minus_one": lax.expm1, "log": lax.log, "log_plus_one": lax.log1p,
    "sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "tanh": lax.tanh,
    "logistic": lax.logistic, "sine": lax.sin, "cosine": lax.cos, "tan": lax.tan,
    "atan2": lax.atan2, "floor": lax.floor, "ceil": lax.ceil, "and": lax.bitwise_and,
    "or": lax.bitwise_or, "xor": lax.bitwise_xor, "not": lax.bitwise_not,
    "shift_left": lax.shift_left, "shift_right_logical": lax.shift_right_logical,
    "shift_right_arithmetic": lax.shift_right_arithmetic, "is_finite": lax.is_finite,
    "popcnt": lax.population_count, "clamp": lax.clamp, "return": lambda x: x,
    "optimization_barrier": lambda *x: x, "chlo.erf": lax.erf, "chlo.asin": lax.asin,
    "chlo.acos": lax.acos, "chlo.atan": lax.atan, "chlo.sinh": lax.sinh, "chlo.cosh": lax.cosh,
    "chlo.asinh": lax.asinh, "chlo.acosh": lax.acosh, "chlo.atanh": lax.atanh,
    "chlo.square": lax.square, "Sharding": lambda x: x,
}  # fmt: skip

_COMPARED = {"EQ": lax.eq, "NE": lax.ne, "LT": lax.lt, "LE": lax.le, "GT": lax.gt, "GE": lax.ge}

_REDUCED = {
    "add": jax.numpy.sum, "multiply": jax.numpy.prod, "maximum": jax.numpy.max,
    "minimum": jax.numpy.min, "and": jax.numpy.all, "or": jax.numpy.any,
}  # fmt: skip

_JOINED: Mapping[str, Callable[..., Any]] = {
    "add": lax.add, "multiply": lax.mul, "maximum": lax.max, "minimum": lax.min,
    "and": lax.bitwise_and, "or": lax.bitwise_or,
}  # fmt: skip

_SCATTERED: Mapping[str, Callable[..., Any]] = {
    "add": lax.scatter_add, "multiply": lax.scatter_mul, "maximum": lax.scatter_max,
    "minimum": lax.scatter_min, REPLACED: lax.scatter,
}  # fmt: skip


def function_of(program: JaxProgram) -> Callable[..., tuple[Any, ...]]:
    """The main function with ``jax.lax`` in the place of each operation."""
    stored = {name: array_of(each) for name, each in program.constants.items()}
    replay = _Replay(program, stored)

    def function(*inputs: Any) -> tuple[Any, ...]:  # noqa: ANN401
        values: Values = {**stored, **dict(zip(program.inputs, inputs, strict=True))}
        replay.run(program.nodes, values)
        return tuple(jax.numpy.asarray(values[name]) for name in program.outputs)

    return function


class _Replay:
    def __init__(self, program: JaxProgram, stored: Values) -> None:
        self._program, self._stored = program, stored

    def run(self, nodes: Sequence[JaxNode], values: Values) -> None:
        """Compute the nodes in order, each from the values so far."""
        for node in nodes:
            if not node.outputs:
                continue
            results = self._results(node, [values[name] for name in node.inputs], values)
            found = results if isinstance(results, (tuple, list)) else (results,)
            values.update(zip(node.outputs, found, strict=True))

    def _results(self, node: JaxNode, inputs: list[Any], values: Values) -> Any:  # noqa: ANN401
        own, name = inputs[: node.operands], native(node)
        if name in _PLAIN:
            return _PLAIN[name](*own)
        special = getattr(self, f"_{name.replace('.', '_')}", None)
        if special is None:
            raise UnreadableModelError(
                "UNSUPPORTED_OP", f"{name} cannot be written as a function of jax.lax",
                where=node.name,
            )  # fmt: skip
        return special(node, own, values)

    def _body(self, body: JaxBody, values: Values) -> Callable[..., list[Any]]:
        def function(*given: Any) -> list[Any]:  # noqa: ANN401
            inner = {**values, **dict(zip(body.inputs, given, strict=True))}
            self.run(body.nodes, inner)
            return [inner[name] for name in body.outputs]

        return function

    def _spec(self, node: JaxNode) -> tuple[tuple[int, ...], np.dtype[Any]]:
        tensor = self._program.tensors[node.outputs[0]]
        if None in tensor.shape:
            raise UnreadableModelError("UNBOUND_DIM", "an axis has no size", where=node.name)
        return tuple(size or 0 for size in tensor.shape), numpy_dtype(tensor.dtype)

    def _compare(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return _COMPARED[str(node.attributes["comparison_direction"])](*own)

    def _select(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.select_n(own[0], own[2], own[1])

    def _convert(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.convert_element_type(own[0], self._spec(node)[1])

    def _bitcast_convert(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.bitcast_convert_type(own[0], self._spec(node)[1])

    def _round_nearest_even(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.round(own[0], lax.RoundingMethod.TO_NEAREST_EVEN)

    def _round_nearest_afz(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.round(own[0], lax.RoundingMethod.AWAY_FROM_ZERO)

    def _reduce_precision(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        bits = (int(node.attributes[f"{word}_bits"]) for word in ("exponent", "mantissa"))
        return lax.reduce_precision(own[0], *bits)

    def _maximum(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        # jax2onnx 0.17 moves transpositions past Max and leaves the other operand as it is.
        for one, other in (own, own[::-1]):
            if isinstance(other, np.ndarray) and other.dtype.kind == "f" and not other.any():
                return jax.nn.relu(one)
        return lax.max(*own)

    def _broadcast_in_dim(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        if isinstance(own[0], np.ndarray) and own[0].size == 1:
            return np.broadcast_to(own[0].reshape(()), self._spec(node)[0])
        return lax.broadcast_in_dim(
            own[0], self._spec(node)[0], node.attributes["broadcast_dimensions"]
        )

    def _reshape(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.reshape(own[0], self._spec(node)[0])

    def _transpose(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.transpose(own[0], node.attributes["permutation"])

    def _concatenate(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.concatenate(own, int(node.attributes["dimension"]))

    def _slice(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        words = ("start_indices", "limit_indices", "strides")
        return lax.slice(own[0], *(node.attributes[word] for word in words))

    def _dynamic_slice(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.dynamic_slice(own[0], own[1:], node.attributes["slice_sizes"])

    def _dynamic_update_slice(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.dynamic_update_slice(own[0], own[1], own[2:])

    def _pad(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        words = ("edge_padding_low", "edge_padding_high", "interior_padding")
        widths = zip(*(node.attributes[word] for word in words), strict=True)
        return lax.pad(own[0], own[1], tuple(widths))

    def _reverse(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.rev(own[0], node.attributes["dimensions"])

    def _iota(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        shape, dtype = self._spec(node)
        return lax.broadcasted_iota(dtype, shape, int(node.attributes["iota_dimension"]))

    def _dot_general(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        numbers = node.attributes["dot_dimension_numbers"]
        pairs = [
            tuple(numbers[f"{side}_{word}_dimensions"] for side in ("lhs", "rhs"))
            for word in ("contracting", "batching")
        ]
        return lax.dot_general(*own, tuple(pairs), preferred_element_type=self._spec(node)[1])

    def _convolution(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        attributes = node.attributes
        numbers, rank = attributes["dimension_numbers"], own[0].ndim - 2
        layout = lax.ConvDimensionNumbers(
            *((numbers[first], numbers[second], *numbers[rest]) for first, second, rest in (
                ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
                ("kernel_output_feature_dimension", "kernel_input_feature_dimension",
                 "kernel_spatial_dimensions"),
                ("output_batch_dimension", "output_feature_dimension",
                 "output_spatial_dimensions"),
            ))
        )  # fmt: skip
        ones = (1,) * rank
        weight = own[1]
        if any(flipped := attributes.get("window_reversal") or ()):
            axes = numbers["kernel_spatial_dimensions"]
            weight = lax.rev(
                weight, [axis for axis, turn in zip(axes, flipped, strict=True) if turn]
            )
        return lax.conv_general_dilated(
            own[0], weight, attributes.get("window_strides") or ones,
            attributes.get("padding") or ((0, 0),) * rank,
            lhs_dilation=attributes.get("lhs_dilation") or ones,
            rhs_dilation=attributes.get("rhs_dilation") or ones, dimension_numbers=layout,
            feature_group_count=int(attributes.get("feature_group_count", 1)),
            batch_group_count=int(attributes.get("batch_group_count", 1)),
            preferred_element_type=self._spec(node)[1],
        )  # fmt: skip

    def _reduce(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        axes, by = tuple(node.attributes["dimensions"]), reducer(node) or ""
        if by in _REDUCED and node.operands == 2:
            found = _REDUCED[by](own[0], axis=axes).astype(own[0].dtype)
            return found if self._is_neutral(node, by) else _JOINED[by](found, own[1])
        places = self._places_of_extreme(node, axes)
        if places is None:
            return lax.reduce(
                tuple(own[: len(own) // 2]), tuple(own[len(own) // 2 :]),
                lambda a, b: tuple(self._body(node.bodies["reducer"], values)(*a, *b)), axes,
            )  # fmt: skip
        index = places(own[0], axes[0], own[1].dtype)
        value = _REDUCED["maximum" if places is lax.argmax else "minimum"](own[0], axis=axes)
        return value, index

    def _is_neutral(self, node: JaxNode, by: str) -> bool:
        """Whether a reduction begins with the number that changes nothing."""
        start = self._stored.get(node.inputs[1])
        if start is None or start.size != 1:
            return False
        number = float(np.asarray(start, np.float64).reshape(()))
        kind = start.dtype
        lowest, highest = (-np.inf, np.inf) if kind.kind not in "iu" else (
            np.iinfo(kind).min, np.iinfo(kind).max)  # fmt: skip
        neutral = {
            "add": 0,
            "multiply": 1,
            "maximum": lowest,
            "minimum": highest,
            "and": 1,
            "or": 0,
        }
        return number == float(neutral[by])

    def _places_of_extreme(self, node: JaxNode, axes: tuple[int, ...]) -> Any:  # noqa: ANN401
        """``argmax`` or ``argmin`` where that is what a region picks; None otherwise."""
        if node.operands != 4 or len(axes) != 1:
            return None
        maker = next(
            (each for each in self._program.all_nodes() if node.inputs[1] in each.outputs), None
        )
        if maker is None or maker.op != "iota" or maker.attributes["iota_dimension"] != axes[0]:
            return None
        words = {
            str(each.attributes["comparison_direction"])
            for each in node.bodies["reducer"].nodes
            if each.op == "compare" and each.inputs[0] == node.bodies["reducer"].inputs[0]
        }
        if "GT" in words and "LT" not in words:
            return lax.argmax
        return lax.argmin if "LT" in words and "GT" not in words else None

    def _reduce_window(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        attributes, by = node.attributes, reducer(node) or ""
        ones = (1,) * own[0].ndim
        if by not in _JOINED:
            raise UnreadableModelError(
                "UNSUPPORTED_OP", "windows joined by a region", where=node.name
            )
        start = np.asarray(self._stored.get(node.inputs[1], self._constant(node.inputs[1])))
        return lax.reduce_window(
            own[0], start.reshape(())[()], _JOINED[by], attributes["window_dimensions"],
            attributes.get("window_strides") or ones,
            attributes.get("padding") or ((0, 0),) * own[0].ndim,
            base_dilation=attributes.get("base_dilations") or ones,
            window_dilation=attributes.get("window_dilations") or ones,
        )  # fmt: skip

    def _constant(self, name: str) -> Any:  # noqa: ANN401
        """The stored number that a scalar was broadcast from."""
        for node in self._program.all_nodes():
            if name in node.outputs and node.op in ("broadcast_in_dim", "convert", "reshape"):
                return self._stored.get(node.inputs[0], 0)
        return 0

    def _gather(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        numbers = node.attributes["dimension_numbers"]
        layout = lax.GatherDimensionNumbers(
            offset_dims=tuple(numbers["offset_dims"]),
            collapsed_slice_dims=tuple(numbers["collapsed_slice_dims"]),
            start_index_map=tuple(numbers["start_index_map"]),
            operand_batching_dims=tuple(numbers["operand_batching_dims"]),
            start_indices_batching_dims=tuple(numbers["start_indices_batching_dims"]),
        )
        return lax.gather(
            own[0], _last(own[1], numbers), layout, node.attributes["slice_sizes"], mode="clip"
        )

    def _scatter(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        numbers = node.attributes["scatter_dimension_numbers"]
        layout = lax.ScatterDimensionNumbers(
            update_window_dims=tuple(numbers["update_window_dims"]),
            inserted_window_dims=tuple(numbers["inserted_window_dims"]),
            scatter_dims_to_operand_dims=tuple(numbers["scattered_dims_to_operand_dims"]),
            operand_batching_dims=tuple(numbers["input_batching_dims"]),
            scatter_indices_batching_dims=tuple(numbers["scatter_indices_batching_dims"]),
        )
        by = joined_by(node) or ""
        if by not in _SCATTERED:
            raise UnreadableModelError("UNSUPPORTED_OP", "scatter by a region", where=node.name)
        return _SCATTERED[by](own[0], _last(own[1], numbers), own[2], layout, mode="drop")

    def _sort(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        weights: WeightCache[str] = WeightCache(lambda key: stored_value(self._program, key))
        step = next(s for s in compiled(self._program, weights) if s.name == node.name)
        keys = keys_of(step.bodies["comparator"], weights.value)
        if (
            not keys
            or [place for place, _ in keys] != list(range(len(keys)))
            or any(descending for _, descending in keys)
        ):
            raise UnreadableModelError("UNSUPPORTED_OP", "this order of a sort", where=node.name)
        return lax.sort(tuple(own), dimension=int(node.attributes["dimension"]), num_keys=len(keys))

    def _chlo_top_k(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        return lax.top_k(own[0], int(node.attributes["composite_attributes"]["k"]))

    def _while(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        test, body = (self._body(node.bodies[word], values) for word in ("cond", "body"))
        given = tuple(jax.numpy.asarray(each) for each in own)
        return lax.while_loop(lambda c: test(*c)[0], lambda c: tuple(body(*c)), given)

    def _case(self, node: JaxNode, own: list[Any], values: Values) -> Any:  # noqa: ANN401
        branches = [
            lambda body=body: tuple(self._body(body, values)()) for body in node.bodies.values()
        ]
        if len(branches) == 2:
            return lax.cond(own[0] != 0, branches[1], branches[0])
        return lax.switch(own[0], branches)


def _last(places: Any, numbers: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The axis of the places' coordinates as the last one."""
    axis = int(numbers["index_vector_dim"])
    if axis == places.ndim:
        return lax.expand_dims(places, [axis])
    return jax.numpy.moveaxis(places, axis, -1)
