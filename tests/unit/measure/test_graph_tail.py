"""The tail of a graph: which nodes it has, and where the others enter it."""

from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.measure.graph_tail import tail_of


def _graph(reads, outputs=None):
    """Node ``i`` computes ``t<i>`` from the tensors that ``reads[i]`` names."""
    nodes = tuple(
        Node(name=f"n{i}", op="Add", native_op="Add", inputs=tuple(names), outputs=(f"t{i}",))
        for i, names in enumerate(reads)
    )
    read = {name for names in reads for name in names}
    ends = outputs or [f"t{i}" for i in range(len(reads)) if f"t{i}" not in read]
    return Graph(
        name="g",
        inputs=(TensorSpec(name="x", dtype="float32", shape=(2,)),),
        outputs=tuple(TensorSpec(name=name, dtype="float32", shape=(2,)) for name in ends),
        nodes=nodes,
        tensors={},
        constants={
            name: Constant(name=name, dtype="float32", shape=(2,), digest=name, value_digest=name)
            for name in read
            if name.startswith("c")
        },
    )


def _chain(length):
    return [["x", "c0"], *([f"t{i - 1}", f"c{i}"] for i in range(1, length))]


def test_the_tail_of_a_chain_is_its_end():
    tail = tail_of(_graph(_chain(24)))
    assert tail is not None
    first = 24 - tail.nodes
    assert 2 <= tail.nodes <= 4
    assert tail.entries == (f"t{first - 1}",)
    assert tail.constants == {f"c{i}" for i in range(first, 24)}
    assert tail.inputs == ()
    assert tail.entering == 1, "the shape of t is not declared"


def test_a_constant_that_other_nodes_read_too_is_not_its_own():
    reads = _chain(24)
    reads[2].append("c23")
    tail = tail_of(_graph(reads))
    assert tail is not None
    assert "c23" not in tail.constants


def test_what_follows_from_constants_belongs_to_its_readers():
    reads = [["c900"], ["x", "c0"], *([f"t{i - 1}", f"c{i}"] for i in range(2, 24))]
    reads[-1].append("t0")
    tail = tail_of(_graph(reads))
    assert tail is not None
    assert "t0" not in tail.entries
    assert "c900" in tail.constants


def test_an_output_that_is_computed_early_has_an_end_of_its_own():
    tail = tail_of(_graph(_chain(24), outputs=["t3", "t23"]))
    assert tail is not None
    assert tail.entries == ("t1", "t21")
    assert tail.constants == {"c2", "c3", "c22", "c23"}


def test_there_is_none_in_a_small_graph():
    assert tail_of(_graph(_chain(4))) is None


@st.composite
def _dags(draw):
    count = draw(st.integers(1, 40))
    return [
        draw(
            st.lists(
                st.sampled_from(["x", f"c{i}", "c0", *(f"t{j}" for j in range(i))]),
                min_size=1,
                max_size=3,
            )
        )
        for i in range(count)
    ]


@given(_dags())
def test_no_disturbance_leaves_the_tail_and_comes_back(reads):
    graph = _graph(reads)
    tail = tail_of(graph)
    if tail is None:
        return
    made = {name: node for node in graph.nodes for name in node.outputs}
    inside, left = set(), [spec.name for spec in graph.outputs]
    while left:
        name = left.pop()
        if name in tail.entries or name not in made or made[name].name in inside:
            continue
        inside.add(made[name].name)
        left += made[name].inputs
    ways = _ways(graph, inside)
    for node in graph.nodes:
        if node.name in inside:
            within, beyond = ways[node.name]
            assert not within & beyond, "one output is reached on paths of both kinds"
    outside = [node for node in graph.nodes if node.name not in inside]
    needed = {name for node in outside for name in node.inputs}
    assert not tail.constants & needed
    for constant in tail.constants:
        readers = [ways[node.name] for node in graph.nodes if constant in node.inputs]
        within = set().union(*(each[0] for each in readers))
        assert not within & set().union(*(each[1] for each in readers))
    assert {"x"} & {
        name for node in graph.nodes if node.name in inside for name in node.inputs
    } <= set(tail.inputs)


def _ways(graph, inside):
    """The outputs that each node reaches on paths inside, and on those that leave it."""
    returned = {spec.name for spec in graph.outputs}
    found = {}
    for node in reversed(graph.nodes):
        within, beyond = returned & set(node.outputs), set()
        for reader in graph.nodes:
            if set(reader.inputs) & set(node.outputs):
                within |= found[reader.name][0]
                beyond |= found[reader.name][1]
        if node.name not in inside:
            within, beyond = set(), within | beyond
        found[node.name] = within, beyond
    return found
