"""Which nodes of two described graphs correspond, and what differs between them."""

from dataclasses import replace

import numpy as np
import pytest

from described_graphs import graph, node, spec, weight
from isomorph.core.limits import noted_limits
from isomorph.core.model_diff import ChangeKind, Relation
from isomorph.diffing.graph_diff import DiffConfig, diff_graphs
from isomorph.diffing.node_pairs import NodePairs


def rows(reference, candidate, *, one_framework=True, **config):
    """The rows that are no plain match, by relation and names."""
    return [row for row in all_rows(reference, candidate, one_framework, **config)
            if row.relation is not Relation.MATCHED]  # fmt: skip


def all_rows(reference, candidate, one_framework=True, **config):
    inputs = zip(reference.inputs, candidate.inputs, strict=True)
    outputs = zip(reference.outputs, candidate.outputs, strict=True)
    return diff_graphs(
        reference,
        candidate,
        inputs={other.name: one.name for one, other in inputs},
        outputs=[(one.name, other.name) for one, other in outputs],
        config=DiffConfig(one_framework=one_framework, **config),
    )


def names(row):
    return [each.name for each in row.reference], [each.name for each in row.candidate]


def relations(found):
    return [(row.relation, *names(row)) for row in found]


def layers(count, *, prefix="", skip=(), slopes=None):
    """A chain of MatMul, Add and LeakyRelu; nodes in ``skip`` are left out."""
    nodes, stored, last = [], {}, "x"
    for at in range(count):
        for op, attributes in (("MatMul", {}), ("Add", {}),
                               ("LeakyRelu", {"alpha": (slopes or {}).get(at, 0.1)})):  # fmt: skip
            name = f"{prefix}{op}{at}"
            if name.removeprefix(prefix) in skip:
                continue
            inputs = last
            if op != "LeakyRelu":
                stored[f"{name}.w"] = weight(at, *((8, 8) if op == "MatMul" else (8,)))
                inputs = f"{last} {name}.w"
            nodes.append(node(name, op, inputs, **attributes))
            last = f"{name}.out"
    return graph(nodes, stored)


def test_other_names_are_no_difference():
    found = all_rows(layers(4), layers(4, prefix="other/"))
    assert {row.relation for row in found} == {Relation.MATCHED}
    assert all(row.renamed for row in found)
    assert len(found) == 12


def test_one_attribute_is_exactly_one_changed_node():
    (row,) = rows(layers(6), layers(6, prefix="b", slopes={3: 0.2}))
    assert relations([row]) == [(Relation.CHANGED, ["LeakyRelu3"], ["bLeakyRelu3"])]
    (change,) = row.changes
    assert (change.kind, change.name) == (ChangeKind.ATTRIBUTE, "alpha")
    assert (change.reference, change.candidate) == ("0.1", "0.2")


@pytest.mark.parametrize("missing", ["LeakyRelu2", "Add0", "MatMul5"])
def test_a_node_of_one_side_is_exactly_that_node(missing):
    whole, without = layers(6), layers(6, prefix="b", skip={missing})
    assert relations(rows(whole, without)) == [(Relation.REMOVED, [missing], [])]
    assert relations(rows(without, whole)) == [(Relation.ADDED, [], [missing])]


def test_another_operator_at_one_place_is_a_change():
    one = layers(3)
    nodes = [replace(n, op="Sigmoid", native_op="Sigmoid", attributes={})
             if n.name == "LeakyRelu1" else n for n in one.nodes]  # fmt: skip
    (row,) = rows(one, replace(one, nodes=tuple(nodes)))
    assert row.relation is Relation.CHANGED
    assert [(c.kind, c.reference, c.candidate) for c in row.changes] == [
        (ChangeKind.OPERATOR, "LeakyRelu", "Sigmoid")
    ]


def test_a_changed_weight_is_described_by_its_values():
    one, other = layers(3), layers(3)
    values = weight(1, 8, 8)
    changed = values.copy()
    changed[2, 3] += 0.5
    other = graph(other.nodes, {**_arrays(3), "MatMul1.w": changed})
    given = {0: values, 1: changed}
    (row,) = rows(one, other, read=lambda side, _: given[side])
    assert names(row) == (["MatMul1"], ["MatMul1"])
    (change,) = row.changes
    assert change.kind is ChangeKind.CONSTANT
    assert change.detail.startswith("1 of 64 elements differs, the largest by 0.5")


def _arrays(count):
    found = {}
    for at in range(count):
        found |= {f"MatMul{at}.w": weight(at, 8, 8), f"Add{at}.w": weight(at, 8)}
    return found


def test_all_weights_may_differ_and_every_node_still_has_its_counterpart():
    one = layers(4)
    other = graph(one.nodes, {name: array * 2 for name, array in _arrays(4).items()})
    found = rows(one, other)
    assert all(names(row)[0] == names(row)[1] for row in found)
    assert {c.kind for row in found for c in row.changes} == {ChangeKind.CONSTANT}
    assert len(found) == 8


def test_a_transposed_square_weight_of_one_operator_is_a_change():
    nodes = [node("m", "MatMul", "x w")]
    values = weight(0)
    (row,) = rows(graph(nodes, {"w": values}), graph(nodes, {"w": values.T.copy()}))
    assert row.changes[0].detail == "the same elements in another order"


def test_another_input_is_a_change_of_the_node_that_reads_it():
    def residual(source):
        nodes = [node("a", "Relu", "x"), node("b", "MatMul", "a.out w"),
                 node("c", "Sigmoid", "b.out"), node("d", "Sub", f"c.out {source}"),
                 node("e", "Tanh", "d.out")]  # fmt: skip
        return graph(nodes, {"w": weight(0)})

    (row,) = rows(residual("a.out"), residual("b.out"))
    assert names(row) == (["d"], ["d"])
    assert [(c.kind, c.name, c.reference, c.candidate) for c in row.changes] == [
        (ChangeKind.INPUT, "input 1", "a", "b")
    ]


def test_operands_of_a_sum_have_no_order():
    nodes = [node("a", "Relu", "x"), node("b", "Sigmoid", "x"), node("s", "Add", "a.out b.out")]
    other = [node("q", "Sigmoid", "x"), node("p", "Relu", "x"), node("t", "Add", "q.out p.out")]
    assert rows(graph(nodes), graph(other)) == []


def test_three_alike_readers_are_distinguished_by_their_weights():
    def attention(order, prefix):
        nodes = [node(f"{prefix}{i}", "MatMul", f"x {prefix}w{i}") for i in order]
        nodes.append(node(f"{prefix}cat", "Concat", " ".join(f"{prefix}{i}.out" for i in range(3))))
        return graph(nodes, {f"{prefix}w{i}": weight(i) for i in range(3)})

    found = all_rows(attention((0, 1, 2), "a"), attention((2, 0, 1), "b"))
    assert {row.relation for row in found} == {Relation.MATCHED}
    pairs = {row.reference[0].name: row.candidate[0].name for row in found}
    assert pairs == {"a0": "b0", "a1": "b1", "a2": "b2", "acat": "bcat"}


def test_a_node_at_another_place_was_moved():
    before = [node("c", "MatMul", "x w"), node("r", "Relu", "c.out"), node("a", "Add", "r.out b"),
              node("t", "Tanh", "a.out")]  # fmt: skip
    after = [node("c", "MatMul", "x w"), node("a", "Add", "c.out b"), node("r", "Relu", "a.out"),
             node("t", "Tanh", "r.out")]  # fmt: skip
    stored = {"w": weight(0), "b": weight(1, 8)}
    (row,) = rows(graph(before, stored), graph(after, stored))
    assert row.relation is Relation.MOVED
    assert row.reference[0].name == row.candidate[0].name


def test_a_product_with_its_bias_is_one_group_each():
    linear, split, one, other = [], [], {}, {}
    last = {"a": "x", "b": "x"}
    for at in range(3):
        linear.append(node(f"g{at}", "Gemm", f"{last['a']} w{at} v{at}", native="aten.linear"))
        split += [
            node(f"m{at}", "MatMul", f"{last['b']} t{at}"),
            node(f"s{at}", "Add", f"m{at}.out u{at}"),
        ]
        one |= {f"w{at}": weight(at), f"v{at}": weight(at, 8)}
        other |= {f"t{at}": weight(at).T.copy(), f"u{at}": weight(at, 8)}
        last = {"a": f"g{at}.out", "b": f"s{at}.out"}
    found = rows(graph(linear, one), graph(split, other), one_framework=False)
    assert relations(found) == [
        (Relation.REGROUPED, [f"g{at}"], [f"m{at}", f"s{at}"]) for at in range(3)
    ]


def test_a_normalization_is_folded_into_the_product_before_it():
    stored = {
        "w": weight(0),
        "g": weight(1, 8),
        "b": weight(2, 8),
        "m": weight(3, 8),
        "v": weight(4, 8),
    }
    before = [node("r", "Relu", "x"), node("c", "Conv", "r.out w"),
              node("n", "BatchNormalization", "c.out g b m v"),
              node("t", "Tanh", "n.out")]  # fmt: skip
    after = [node("r", "Relu", "x"), node("c", "Conv", "r.out w b"), node("t", "Tanh", "c.out")]
    folded = {"w": weight(7), "b": weight(8, 8)}
    (row,) = rows(graph(before, stored), graph(after, folded))
    assert relations([row]) == [(Relation.REGROUPED, ["c", "n"], ["c"])]


def test_a_normalization_becomes_other_numbers_and_a_sum():
    stored = {"w": weight(0), "g": weight(1, 8), "b": weight(2, 8), "m": weight(3, 8)}
    stored |= {"v": weight(4, 8)}
    before = [node("c", "Conv", "x w"), node("n", "BatchNormalization", "c.out g b m v"),
              node("t", "Tanh", "n.out")]  # fmt: skip
    after = [node("c", "Conv", "x w"), node("s", "Add", "c.out b"), node("t", "Tanh", "s.out")]
    folded = {"w": weight(7), "b": weight(8, 8)}
    found = rows(graph(before, stored), graph(after, folded), one_framework=False)
    assert relations(found) == [(Relation.REGROUPED, ["c", "n"], ["c", "s"])]


def test_quantizers_are_of_the_conversion():
    plain = [node("c", "Conv", "x w"), node("t", "Tanh", "c.out")]
    between = [node("c", "Conv", "x w"), node("q", "QuantizeLinear", "c.out s"),
               node("d", "DequantizeLinear", "q.out s"), node("t", "Tanh", "d.out")]  # fmt: skip
    sides = graph(plain, {"w": weight(0)}), graph(between, {"w": weight(0), "s": np.float32(0.1)})
    assert relations(rows(*sides)) == [(Relation.CONVERSION, [], ["q", "d"])]


def test_an_activation_is_built_in():
    before = [node("c", "Conv", "x w"), node("r", "Relu", "c.out"), node("t", "Tanh", "r.out")]
    after = [node("c", "Conv", "x w", fused_activation_function="RELU"), node("t", "Tanh", "c.out")]
    stored = {"w": weight(0)}
    found = rows(graph(before, stored), graph(after, stored), one_framework=False)
    assert relations(found) == [(Relation.REGROUPED, ["c", "r"], ["c"])]


def test_a_lost_activation_is_not_hidden_in_a_group():
    before = [node("c", "Conv", "x w"), node("r", "Relu", "c.out"), node("t", "Tanh", "r.out")]
    after = [node("c", "Conv", "x w"), node("t", "Tanh", "c.out")]
    stored = {"w": weight(0)}
    found = rows(graph(before, stored), graph(after, stored), one_framework=False)
    assert relations(found) == [(Relation.REMOVED, ["r"], [])]


def transposing(*perms):
    nodes, last = [], "x"
    for at, perm in enumerate(perms):
        nodes.append(node(f"p{at}", "Transpose", last, perm=perm))
        last = f"p{at}.out"
    nodes.append(node("c", "Conv", f"{last} w"))
    return graph(nodes, {"w": weight(0)})


def test_layout_transpositions_are_of_the_conversion():
    plain, moved = transposing(), transposing((0, 2, 3, 1))
    assert relations(rows(plain, moved, one_framework=False)) == [(Relation.CONVERSION, [], ["p0"])]
    assert relations(rows(moved, plain, one_framework=False)) == [(Relation.CONVERSION, ["p0"], [])]


def test_within_one_framework_a_transposition_counts_unless_another_undoes_it():
    plain = transposing()
    assert relations(rows(plain, transposing((0, 2, 3, 1)))) == [(Relation.ADDED, [], ["p0"])]
    undone = transposing((0, 2, 3, 1), (0, 3, 1, 2))
    assert relations(rows(plain, undone)) == [(Relation.CONVERSION, [], ["p0", "p1"])]


def test_between_layouts_axes_are_not_compared():
    one = [node("c", "Concat", "x y", axis=1), node("d", "Div", "c.out h")]
    other = [node("c", "Concat", "x y", axis=0), node("d", "Div", "c.out h")]
    stored = {"h": np.float32(2.0)}
    sides = graph(one, stored, inputs="x y"), graph(other, stored, inputs="x y")
    assert rows(*sides, one_framework=False, one_layout=False) == []
    (row,) = rows(*sides, one_framework=False)
    assert row.changes[0].name == "axis"


def test_a_number_is_an_attribute_here_and_a_constant_there():
    one = graph([node("d", "Div", "x", native="aten.div", other=2.0)])
    assert (
        rows(one, graph([node("q", "Div", "x h")], {"h": np.float32(2)}), one_framework=False) == []
    )
    (row,) = rows(one, graph([node("q", "Div", "x h")], {"h": np.float32(3)}), one_framework=False)
    assert [(c.name, c.reference, c.candidate) for c in row.changes] == [("operand", "2", "3")]


def test_a_type_is_reported_where_it_begins():
    one = layers(2)
    narrow = {
        name: replace(each, dtype="float16") for name, each in one.tensors.items() if name != "x"
    }
    found = rows(one, replace(one, tensors={**one.tensors, **narrow}))
    assert [names(row)[1] for row in found] == [["MatMul0"]]
    assert found[0].changes[0].kind is ChangeKind.TYPE


def test_a_difference_in_a_body_is_found_at_its_path():
    def branching(alpha):
        body = graph([node("bend", "LeakyRelu", "x", alpha=alpha)], inputs="")
        body = replace(body, inputs=())
        return graph(
            [node("c", "Relu", "x"), node("i", "If", "c.out", bodies={"then_branch": body})]
        )

    (row,) = rows(branching(0.1), branching(0.3))
    assert names(row) == (["i/then_branch/bend"], ["i/then_branch/bend"])
    assert row.changes[0].name == "alpha"


def test_unrelated_graphs_share_no_group_of_everything():
    one = layers(2)
    other = graph([node("p", "Sigmoid", "x"), node("q", "Tanh", "p.out")])
    found = all_rows(one, other)
    assert not [row for row in found if row.relation is Relation.MATCHED]


def test_the_work_grows_with_the_nodes(monkeypatch):
    """Eight times the nodes take eight times the comparisons, and not 64 times."""
    counted = []
    fits = NodePairs.fits
    monkeypatch.setattr(NodePairs, "fits", lambda *words: counted.append(1) or fits(*words))
    taken = []
    for count in (50, 400):
        counted.clear()
        assert len(rows(layers(count), layers(count, slopes={count // 2: 0.3}))) == 1
        taken.append(len(counted))
    assert taken[1] < 10 * taken[0]


def test_a_long_part_without_anything_in_common_is_cut_and_a_limit_is_noted():
    one = graph([node(f"a{at}", "Relu" if at % 2 else "Tanh", f"a{at - 1}.out" if at else "x")
                 for at in range(300)])  # fmt: skip
    other = graph([node(f"b{at}", "Relu" if at % 3 else "Sin", f"b{at - 1}.out" if at else "x")
                   for at in range(300)])  # fmt: skip
    with noted_limits() as hit:
        rows(one, other)
    assert [limit.most for limit in hit] == [128]


def test_a_node_keeps_its_reads_outputs_and_constants():
    (row,) = all_rows(layers(1), layers(1))[:1]
    assert row.reference[0].reads == ("x",)
    assert row.reference[0].constants == ("MatMul0.w",)
    assert row.reference[0].outputs == (spec("MatMul0.out"),)


def test_between_frameworks_a_rounding_of_a_weight_is_no_change():
    stored = {"w": weight(0)}
    again = {"w": np.nextafter(stored["w"], np.float32(np.inf))}
    nodes = [node("m", "MatMul", "x w")]
    values = [stored, again]
    read = {"read": lambda side, name: values[side][name]}
    sides = graph(nodes, stored), graph(nodes, again)
    assert rows(*sides, one_framework=False, **read) == []
    (row,) = rows(*sides, **read)
    assert row.changes[0].detail.startswith("the same up to rounding; 64 of 64 elements differ")


def test_what_is_computed_from_a_changed_constant_is_no_change_of_its_own():
    nodes = [node("e", "Expand", "slope shape"), node("m", "Mul", "x e.out")]
    sides = [graph(nodes, {"slope": np.float32(slope), "shape": np.int64([1, 8])})
             for slope in (0.1, 0.2)]  # fmt: skip
    (row,) = rows(*sides)
    assert names(row) == (["e"], ["e"])


def test_the_same_numbers_in_other_rows_are_a_change_between_frameworks_as_well():
    stored = {"w": weight(0)}
    values = [stored, {"w": stored["w"][[1, 0, *range(2, 8)]]}]
    nodes = [node("m", "MatMul", "x w")]
    sides = [graph(nodes, each) for each in values]
    (row,) = rows(*sides, one_framework=False, read=lambda side, name: values[side][name])
    assert "channels 0 and 1 along axis 0 are swapped" in row.changes[0].detail
    (row,) = [each for each in all_rows(*sides, one_framework=False) if each.leaves_open]
    assert row.uncompared == ("w",)


def test_a_shape_that_is_stored_here_and_computed_there():
    fixed = graph([node("r", "Reshape", "x shape")], {"shape": np.int64([8, 1])})
    computed = graph([node("s", "Shape", "x"), node("r", "Reshape", "x s.out")])
    (row,) = [each for each in rows(fixed, computed) if each.changes]
    assert ("[8, 1] (int64)", "computed") in [(c.reference, c.candidate) for c in row.changes]
