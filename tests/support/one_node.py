"""One node, run by ONNX Runtime as declared and by our kernel in float64."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from isomorph.kernels.registry import find
from isomorph.oracle.call import Call
from isomorph.oracle.noise import NO_NOISE, Rounding

FLOATS = ("float16", "float32", "bfloat16", "float8_e4m3fn", "float8_e5m2")
STANDARD = 21


class OneNode:
    """A node with its inputs (None where absent) and attributes.

    ``typed`` declares every output as float, where ONNX Runtime cannot infer it.
    """

    def __init__(
        self,
        op,
        inputs,
        *,
        domain="com.microsoft",
        version=1,
        outputs=1,
        typed=False,
        **attributes,
    ):
        self.typed = typed
        self.op, self.domain, self.version, self.outputs = op, domain, version, outputs
        self.inputs = [None if x is None else np.asarray(x) for x in inputs]
        self.attributes = attributes

    def in_onnxruntime(self, read_as=None):
        """``read_as`` casts the outputs, where NumPy has no name for their type."""
        names = ["" if x is None else f"i{k}" for k, x in enumerate(self.inputs)]
        results = [f"o{k}" for k in range(self.outputs)]
        node = helper.make_node(
            self.op, names, results, name="n", domain=self.domain, **self.attributes
        )
        casts, read = [], results
        if read_as is not None:
            read = [f"{name}_read" for name in results]
            casts = [
                helper.make_node("Cast", [name], [cast], to=read_as)
                for name, cast in zip(results, read, strict=True)
            ]
        graph = helper.make_graph(
            [node, *casts],
            "one_node",
            [],
            [self._declared(name) for name in read],
            [
                onnx.numpy_helper.from_array(x, name)
                for name, x in zip(names, self.inputs, strict=True)
                if x is not None
            ],
        )
        standard = self.version if self.domain == "" else STANDARD
        opsets = {"": standard, "com.microsoft": 1, "com.microsoft.nchwc": 1}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*item) for item in opsets.items()],
            ir_version=10,
        )
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, {})

    def by_kernel(self, noise=NO_NOISE, *, lift=True, constant=False):
        function = find(self.domain, self.op, self.version)
        assert function is not None, f"{self.domain} {self.op} has no kernel"
        attributes = {**self._defaults(), **self.attributes}
        call = Call(
            op=self.op,
            domain=self.domain,
            version=self.version,
            attributes=attributes,
            outputs=self.outputs,
            dtype="float32",
            noise=noise,
            constant=constant,
            input_dtypes=tuple(None if x is None else x.dtype.name for x in self.inputs),
        )
        operands = [
            x.astype(np.float64) if lift and x is not None and x.dtype.name in FLOATS else x
            for x in self.inputs
        ]
        kept = [None if x is None else x.copy() for x in operands]
        result = function(call, *operands)
        for before, after in zip(kept, operands, strict=True):
            untouched = before is None or before.tobytes() == after.tobytes()
            assert untouched, "a kernel must not write into its inputs"
        return list(result) if isinstance(result, tuple) else [result]

    def _declared(self, name):
        if self.typed:
            return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        return helper.make_empty_tensor_value_info(name)

    def _defaults(self):
        if self.domain or not onnx.defs.has(self.op):
            return {}
        schema = onnx.defs.get_schema(self.op, self.version, self.domain)
        return {
            name: _text(helper.get_attribute_value(each.default_value))
            for name, each in schema.attributes.items()
            if each.default_value.name
        }


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def rounding(seed=0, *, quantizers=False, run_time=False, unit=2.0**-24):
    noise = Rounding(seed, quantizers=quantizers, run_time=run_time)
    noise.enter("n", unit)
    return noise


def assert_same_within_rounding(node, *, only=None, lift=True, factor=8.0, noise_share=1e-4):
    """Every float output within ``factor`` spreads of the kernel's own noise; others equal.

    The noise is thereby tested from both sides: it must cover what ONNX Runtime's float32 does,
    and it must stay small against the values themselves.
    """
    expected = node.in_onnxruntime()
    oracle = node.by_kernel(lift=lift)
    draws = [node.by_kernel(rounding(seed, run_time=True), lift=lift) for seed in range(8)]
    checked = 0
    for k, (ran, exact) in enumerate(zip(expected, oracle, strict=True)):
        if only is not None and k not in only:
            continue
        checked += 1
        assert ran.shape == exact.shape, (ran.shape, exact.shape)
        if ran.dtype.kind != "f":
            assert ran.dtype == exact.dtype
            np.testing.assert_array_equal(ran, exact)
            continue
        assert exact.dtype == (np.float64 if lift else ran.dtype)
        noisy = np.stack([draw[k] for draw in draws]).astype(np.float64)
        spread = np.sqrt(np.mean((noisy - exact) ** 2, axis=0))
        pooled = np.sqrt(np.mean(spread**2)) if spread.size else 0.0
        largest = np.finfo(ran.dtype).max / 2
        storage = np.spacing(np.minimum(np.abs(ran), largest)).astype(np.float64)
        distance = np.abs(ran.astype(np.float64) - exact)
        allowed = factor * np.maximum(spread, pooled) + storage
        worst = np.max(distance / np.where(allowed == 0, 1, allowed), initial=0.0)
        assert np.all(distance <= allowed), f"{worst:.3g} of the allowed"
        scale = np.sqrt(np.mean(exact**2)) if exact.size else 1.0
        assert pooled <= noise_share * scale, "the noise is wider than it should be"
    assert checked


def assert_within_quanta(node, quanta=1, *, share=0.02):
    """Integers at most ``quanta`` apart, and only a small share of them apart at all.

    ONNX Runtime multiplies in float32 or looks tables up, so a real number near the middle of
    two grid points may fall to either side; never further, and seldom.
    """
    for ran, exact in zip(node.in_onnxruntime(), node.by_kernel(), strict=True):
        assert ran.dtype == exact.dtype
        apart = np.abs(ran.astype(np.int64) - exact.astype(np.int64))
        assert apart.max(initial=0) <= quanta
        assert np.count_nonzero(apart) <= max(1, share * apart.size)
