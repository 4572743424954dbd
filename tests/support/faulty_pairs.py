"""Pairs of small models that differ in one thing, and the place at which they part."""

import numpy as np
import onnx
from onnx import numpy_helper

from cause_examples import drawn, place
from isomorph.diagnose.diagnose import diagnoses

IMAGES = drawn(2, 4, 6, 6)


def network(text, opset=20, **weights):
    head = f'<ir_version: 9, opset_import: ["" : {opset}, "com.microsoft" : 1]>'
    proto = onnx.parser.parse_model(f"{head} {text}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


def chain(*steps, takes="float[P,Q] x", gives="float[R,S] y", opset=20, **weights):
    """One statement after the other, from ``x`` to ``y``."""
    return network(f"g ({takes}) => ({gives}) {{ {' '.join(steps)} }}", opset, **weights)


def on_images(op, attributes, *reads, gives="float[P,Q,R,S] y", opset=20, **weights):
    stated = f"<{attributes}>" if attributes else ""
    step = f"h = {op} {stated} ({', '.join(('x', *reads))})"
    return chain(
        step, "y = Tanh (h)", takes="float[2,4,6,6] x", gives=gives, opset=opset, **weights
    )


def believed(reference, candidate, **feeds):
    """The answer that is best founded."""
    return diagnoses(place(reference, candidate, **feeds))[0]
