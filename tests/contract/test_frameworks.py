"""What every framework promises, checked for each one that is registered."""

import pytest

from isomorph import registry
from isomorph.core.model import Graph
from samples import SAMPLES

FRAMEWORKS = registry.names("frameworks")


@pytest.fixture(params=FRAMEWORKS)
def framework(request):
    return registry.framework(request.param)


@pytest.fixture
def sample(framework, tmp_path):
    return SAMPLES[framework.name](tmp_path)


def test_every_framework_has_a_sample():
    assert set(FRAMEWORKS) <= set(SAMPLES)


def test_it_knows_its_own_file_by_content_and_no_other(framework, sample, tmp_path):
    disguised = tmp_path / "model.bin"
    disguised.write_bytes(sample.path.read_bytes())
    with disguised.open("rb") as file:
        head = file.read(4096)
    claiming = [n for n in FRAMEWORKS if registry.framework(n).sniff(disguised, head)]
    assert claiming == [framework.name]


def test_the_description_is_whole(framework, sample):
    model = framework.load(str(sample.path), {})
    graph = model.graph
    assert isinstance(graph, Graph)
    assert {spec.name for spec in graph.inputs} == set(sample.feeds)
    assert graph.outputs
    known = {spec.name for spec in graph.inputs} | set(graph.constants)
    for node in graph.nodes:
        assert node.name
        missing = [name for name in node.inputs if name and name not in known]
        assert not missing, f"{node.name} reads {missing} before they exist"
        known |= set(node.outputs)
    assert {spec.name for spec in graph.outputs} <= known
    assert len({node.name for node in graph.nodes}) == len(graph.nodes)
    assert graph.framework == model.framework == framework.name


def test_loading_leaves_the_file_alone_and_is_repeatable(framework, sample):
    before = sample.path.read_bytes()
    one, two = (framework.load(str(sample.path), {}) for _ in range(2))
    assert sample.path.read_bytes() == before
    assert one.digest == two.digest
    assert one.graph == two.graph


def test_save_writes_an_equal_model(framework, sample, tmp_path):
    model = framework.load(str(sample.path), {})
    copy = tmp_path / f"copy{sample.path.suffix}"
    framework.save(model, copy)
    again = framework.load(str(copy), {})
    assert [n.op for n in again.graph.nodes] == [n.op for n in model.graph.nodes]
    digests = [sorted(c.digest for c in m.graph.constants.values()) for m in (model, again)]
    assert digests[0] == digests[1]


def test_its_runtime_and_oracle_are_registered_and_accept_it(framework, sample):
    model = framework.load(str(sample.path), {})
    for name in (framework.runtime, framework.oracle):
        assert registry.runtime(name).accepts(model)
