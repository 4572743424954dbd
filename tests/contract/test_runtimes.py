"""What every runtime promises, checked for each one that is registered."""

import warnings
from functools import cache

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.errors import IsomorphError
from isomorph.core.execution import NeedsPlatform
from isomorph.core.model import Graph, Model
from isomorph.core.trace import Environment, Noise, flatten
from isomorph.oracle.noise_stats import hand_over
from samples import SAMPLES, UNKNOWN

NOTHING = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
PAIRS = [
    (runtime, framework)
    for runtime in registry.names("runtimes")
    for framework in registry.names("frameworks")
    if registry.runtime(runtime).accepts(
        Model(framework=framework, location="", digest="", graph=NOTHING)
    )
]


def skip_elsewhere(runtime):
    """Skip where a runtime says that this machine cannot run it."""
    if isinstance(runtime, NeedsPlatform) and runtime.unavailable():
        pytest.skip(runtime.unavailable())


def test_every_runtime_runs_some_framework():
    assert {runtime for runtime, _ in PAIRS} == set(registry.names("runtimes"))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Loads the sample of a framework, once."""

    @cache
    def load(framework):
        sample = SAMPLES[framework](tmp_path_factory.mktemp(framework))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return registry.framework(framework).load(str(sample.path), {}), sample

    return load


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def opened(request, loaded):
    """The model, its feeds, and a session that runs the graph as written, open for all tests."""
    runtime, framework = request.param
    model, sample = loaded(framework)
    extension = registry.runtime(runtime)
    skip_elsewhere(extension)
    settings = {**extension.settings, **extension.plain}
    session = extension.open(model, Environment(runtime=runtime, settings=settings))
    yield model, sample.feeds, session
    session.close()


@pytest.fixture
def cuttable(opened):
    """The same, where the session says that it can be fed and fetched anywhere."""
    capabilities = opened[2].capabilities
    if (capabilities.fetch, capabilities.feed) != ("all", "all"):
        pytest.skip("runs from inputs to outputs alone, and says so")
    return opened


def tensors(model):
    return [name for node in model.graph.nodes for name in node.outputs if name]


def shown(model, session):
    """All that the session says it can be asked for."""
    whole = session.capabilities.fetch == "all"
    return tensors(model) if whole else [spec.name for spec in model.graph.outputs]


def same(one, other):
    left, right = (
        {k: v for name in each for k, v in flatten(name, each[name]).items()}
        for each in (one, other)
    )
    assert left.keys() == right.keys()
    return [
        name
        for name in left
        if not np.array_equal(left[name], right[name], equal_nan=left[name].dtype.kind == "f")
    ] == []


def test_every_top_level_tensor_is_fetched(cuttable):
    model, feeds, session = cuttable
    names = tensors(model)
    assert len(names) > 5, "the sample is too small to show anything"
    result = session.run(feeds, names)
    assert set(result) == set(names)
    assert all(np.isfinite(np.asarray(result[n], np.float64)).all() for n in names)


def test_two_runs_agree_bit_for_bit(opened):
    model, feeds, session = opened
    names = shown(model, session)
    assert same(session.run(feeds, names), session.run(feeds, names))


def test_inputs_are_not_modified(opened):
    model, feeds, session = opened
    kept = {name: array.copy() for name, array in feeds.items()}
    session.run(feeds, shown(model, session))
    assert same(feeds, kept)


def test_what_a_session_cannot_show_is_refused(opened):
    model, feeds, session = opened
    inside = [name for name in tensors(model) if name not in shown(model, session)]
    for name in inside[:1]:
        with pytest.raises(IsomorphError):
            session.run(feeds, [name])


def test_a_node_fed_its_own_inputs_gives_its_own_outputs(cuttable):
    model, feeds, session = cuttable
    whole = {**feeds, **session.run(feeds, tensors(model))}
    checked = 0
    for node in model.graph.nodes:
        inner = {name: whole[name] for name in node.inputs if name in whole}
        outputs = [name for name in node.outputs if name]
        if not inner or not outputs:
            continue
        result = session.run(inner, outputs)
        assert same(result, {name: whole[name] for name in outputs}), node.name
        checked += 1
    assert checked > 5


def test_feeding_an_altered_tensor_changes_only_what_is_downstream(cuttable):
    model, feeds, session = cuttable
    names = tensors(model)
    before = session.run(feeds, names)
    functions = {"Sigmoid", "Relu", "Tanh"}
    middle = next(node.outputs[0] for node in model.graph.nodes if node.op in functions)
    altered = np.asarray(before[middle]) + 1
    after = session.run({**feeds, middle: altered.astype(before[middle].dtype)}, names)
    downstream = {middle}
    for node in model.graph.nodes:
        if downstream & set(node.inputs):
            downstream |= set(node.outputs)
    changed = {n for n in names if not np.array_equal(before[n], after[n])}
    assert changed
    assert changed <= downstream


def test_noise_is_a_function_of_its_seed_and_not_of_what_is_fetched(opened):
    model, feeds, session = opened
    if not session.capabilities.noise:
        pytest.skip("no noise in this runtime")
    names = tensors(model)
    noise = Noise(seed=5, rounding=True)
    one, two = session.run(feeds, names, noise=noise), session.run(feeds, names, noise=noise)
    assert same(one, two)
    output = model.graph.outputs[0].name
    assert same(session.run(feeds, [output], noise=noise), {output: one[output]})
    other = session.run(feeds, [output], noise=Noise(seed=6, rounding=True))
    clean = session.run(feeds, [output])
    assert not same(other, {output: one[output]})
    assert not same(clean, {output: one[output]})
    assert np.allclose(clean[output], one[output], rtol=1e-4, atol=1e-4)


def test_the_environment_names_runtime_and_version(opened):
    _, _, session = opened
    assert session.environment.version
    assert session.environment.runtime in registry.names("runtimes")


@pytest.mark.parametrize("runtime", registry.names("runtimes"))
def test_an_unsupported_model_is_refused_by_the_operators_name(runtime, tmp_path):
    extension = registry.runtime(runtime)
    skip_elsewhere(extension)
    for framework, build in UNKNOWN.items():
        path, operator = build(tmp_path)
        model = registry.framework(framework).load(str(path), {})
        if not extension.accepts(model):
            continue
        environment = Environment(runtime=runtime, settings=dict(extension.settings))
        with pytest.raises(IsomorphError, match=operator) as caught:
            extension.open(model, environment)
        assert caught.value.code == "UNSUPPORTED_OP"


@pytest.mark.parametrize("runtime", registry.names("runtimes"))
def test_settings_and_plain_settings_are_declared(runtime):
    extension = registry.runtime(runtime)
    assert set(extension.plain) <= set(extension.settings)
    assert extension.worker


def test_tensors_that_are_handed_over_one_by_one_are_those_of_a_run(opened):
    model, feeds, session = opened
    names = shown(model, session)
    noises = [None, Noise(seed=5, rounding=True)] if session.capabilities.noise else [None]
    for noise in noises:
        found = {}
        hand_over(session, feeds, names, found.__setitem__, noise=noise)
        ran = session.run(feeds, names) if noise is None else session.run(feeds, names, noise=noise)
        assert same(found, ran)
