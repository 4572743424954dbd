"""Small graphs with known faults, captured and matched for the search."""

from __future__ import annotations

import numpy as np

from chains import Session, graph, node
from isomorph.core.trace import Noise
from isomorph.match.tensor_capture import TensorCapture
from isomorph.match.value_match import ValueMatcher

X = np.random.default_rng(0).normal(size=(4, 6))


def chain(prefix, **ops):
    """Five nodes in a row; ``ops`` replaces the operator of a node."""
    p = prefix
    return graph(
        [
            node(ops.get("a", "Sin"), ["x"], f"{p}a"),
            node(ops.get("b", "Mul"), [f"{p}a", "x"], f"{p}b"),
            node(ops.get("c", "Add"), [f"{p}b", f"{p}a"], f"{p}c"),
            node(ops.get("d", "Sin"), [f"{p}c"], f"{p}d"),
            node(ops.get("out", "Add"), [f"{p}d", "x"], f"{p}out"),
        ],
        outputs=[f"{p}out"],
    )


def captured(made, noise=True):
    """Every tensor of a graph on one input."""
    rounding = Noise(seed=0, rounding=True) if noise else None
    capture = TensorCapture(made, Session(made), {"x": X}, rounding)
    capture.compute()
    return capture


def matched(reference, candidate, **options):
    """A matcher of two graphs on the same input."""
    return ValueMatcher(captured(reference), captured(candidate), **options)


OUTPUTS = [("lout", "rout")]
