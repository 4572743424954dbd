"""The outputs of a model by the meanings of its operators, in float64."""

import numpy as np

from isomorph import registry
from isomorph.core.trace import Environment
from isomorph.proof.implied_numbers import ImpliedNumbers
from isomorph.proof.real import evaluated
from isomorph.proof.side import Side, static_names
from isomorph.proof.terms import Terms


def side_of(source, feeds, terms=None):
    """One side with its inputs, as a proof makes it, and its oracle."""
    framework = next(
        registry.framework(name)
        for name in registry.names("frameworks")
        if registry.framework(name).claims(source)
    )
    model = framework.load(source, {})
    oracle = registry.runtime(framework.oracle)
    session = oracle.open(model, Environment(runtime=framework.oracle, isolation="none"))
    meanings, graph = framework.meanings(), model.graph
    names, _ = static_names(graph, meanings)
    values = {} if not names else session.run(feeds, list(names))
    terms = terms or Terms()
    side = Side(
        graph=graph,
        meanings=meanings,
        terms=terms,
        constant=lambda name: np.asarray(session.run({}, [name])[name]),
        values={name: np.asarray(value) for name, value in values.items()},
        implied=ImpliedNumbers(),
        opset=model.opset,
    )
    for spec in graph.inputs:
        shape = np.asarray(feeds[spec.name]).shape
        side.terms_of[spec.name] = terms.input(spec.name, shape, spec.dtype)
    return side, session


def spelled_values(source, feeds):
    """The values of the outputs, or the reason why a node has no meaning."""
    side, session = side_of(source, feeds)
    for node in side.graph.nodes:
        if side.spell(node) is None:
            reason = next(iter(side.refused.values()))
            return f"{reason.op}: {reason.details}", session
    wide = {
        name: np.asarray(value, np.float64) if np.asarray(value).dtype.kind == "f" else value
        for name, value in feeds.items()
    }
    return [evaluated(side.read(spec.name), wide) for spec in side.graph.outputs], session
