import pytest

from isomorph.core.errors import UsageError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding
from isomorph.match.binding import (
    bind_inputs,
    bind_outputs,
    check_budget_names,
    plain_name,
)


def spec(name, dtype="float32", shape=(2, 3)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def pairs(bound):
    return {pair.reference: (pair.candidate, pair.how) for pair in bound}


def test_names_come_before_order():
    bound = bind_inputs([spec("a"), spec("b")], [spec("b"), spec("a")], {})
    assert pairs(bound) == {"a": ("a", "name"), "b": ("b", "name")}


def test_what_exporters_add_to_a_name_does_not_matter():
    assert plain_name("serving_default_x:0") == plain_name("x.1") == plain_name("X") == "x"
    bound = bind_inputs([spec("x"), spec("h")], [spec("h.1"), spec("x.1")], {})
    assert pairs(bound)["x"] == ("x.1", "similar name")


def test_a_signature_that_fits_once_settles_it():
    bound = bind_inputs(
        [spec("ids", "int64", (2, 7)), spec("img")],
        [spec("in_1"), spec("in_2", "int32", (2, 7))],
        {},
    )
    assert {r: c for r, (c, _) in pairs(bound).items()} == {"ids": "in_2", "img": "in_1"}


def test_an_ambiguous_binding_is_an_error_with_the_flag():
    with pytest.raises(UsageError, match="ambiguous") as caught:
        bind_inputs([spec("h0"), spec("c0")], [spec("p"), spec("q")], {})
    assert caught.value.code == "AMBIGUOUS_BINDING"
    assert "--bind-input" in caught.value.fix


def test_the_users_word_settles_the_rest():
    bound = bind_inputs([spec("h0"), spec("c0")], [spec("p"), spec("q")], {"h0": "q"})
    assert pairs(bound)["h0"] == ("q", "stated by the user")
    assert pairs(bound)["c0"][0] == "p"


def test_a_stated_name_must_exist():
    with pytest.raises(UsageError, match="no input 'nope'"):
        bind_inputs([spec("a")], [spec("b")], {"nope": "b"})


def test_outputs_are_bound_by_name_then_by_place():
    by_name = bind_outputs([spec("y"), spec("z")], [spec("z"), spec("y")], {})
    assert pairs(by_name) == {"y": ("y", "name"), "z": ("z", "name")}
    by_place = bind_outputs([spec("linear"), spec("softmax")], [spec("y"), spec("p")], {})
    assert pairs(by_place) == {"linear": ("y", "position"), "softmax": ("p", "position")}


def test_a_name_that_both_sides_have_binds_and_the_others_follow_by_place():
    ref, cand = [spec("a"), spec("b")], [spec("b"), spec("c")]
    assert pairs(bind_outputs(ref, cand, {})) == {"b": ("b", "name"), "a": ("c", "position")}
    by_place = {"a": ("b", "position"), "b": ("c", "position")}
    assert pairs(bind_outputs(ref, cand, {}, names_known=False)) == by_place


def test_names_that_only_number_tensors_bind_by_place():
    bound = bind_outputs([spec("19"), spec("20")], [spec("20"), spec("21")], {})
    assert pairs(bound) == {"19": ("20", "position"), "20": ("21", "position")}
    counted = bind_outputs([spec("add"), spec("add_1")], [spec("add_1"), spec("add_2")], {})
    assert pairs(counted) == {"add": ("add_1", "position"), "add_1": ("add_2", "position")}
    begun = bind_outputs([spec("mul"), spec("add")], [spec("add"), spec("add_1")], {})
    assert pairs(begun) == {"mul": ("add", "position"), "add": ("add_1", "position")}


def test_numbers_that_tensorflow_gives_decide_the_place_wherever_they_are_stored():
    bound = bind_outputs([spec("scores"), spec("boxes")], [spec("output_1"), spec("output_0")], {})
    assert pairs(bound) == {
        "scores": ("output_0", "position"),
        "boxes": ("output_1", "position"),
    }
    names = [spec("serving_default_args_1:0"), spec("serving_default_args_0:0")]
    found = pairs(bind_inputs([spec("left"), spec("right")], names, {}))
    assert found["left"][0] == "serving_default_args_0:0"
    assert found["right"][0] == "serving_default_args_1:0"


def test_results_of_a_function_have_the_numbers_of_the_outputs():
    results = [spec("StatefulPartitionedCall_1:1"), spec("StatefulPartitionedCall_1:0")]
    found = pairs(bind_outputs([spec("output_0"), spec("output_1")], results, {}))
    assert found["output_0"][0] == "StatefulPartitionedCall_1:0"
    # Beside names that are no numbers, place is all that is known.
    found = pairs(bind_outputs([spec("scores"), spec("boxes")], results, {}))
    assert found["scores"][0] == "StatefulPartitionedCall_1:1"


def test_numbers_settle_nothing_where_the_signatures_contradict_them():
    names = [spec("args_0"), spec("args_1", "int64")]
    found = pairs(bind_inputs([spec("ids", "int64"), spec("image")], names, {}))
    assert (found["ids"][0], found["image"][0]) == ("args_1", "args_0")


def test_a_budget_for_no_output_is_refused():
    bound = (Binding(reference="y", candidate="z", how="position"),)
    for known in ("", "y", "z", "y[0]", "z[1][2]", "y.values"):
        check_budget_names({known: 1.0}, bound)
    with pytest.raises(UsageError) as caught:
        check_budget_names({"yy": 1.0}, bound)
    assert caught.value.code == "UNKNOWN_NAME"
    assert "'yy'" in caught.value.sentence


def test_every_pairing_of_inputs_that_fit_is_listed_in_order_first():
    from isomorph.match.binding import possible_inputs

    def specs(*names, shape=(2, 3)):
        return [TensorSpec(name=name, dtype="float32", shape=shape) for name in names]

    def pairs(left, right, stated=None):
        return [
            [(each.reference, each.candidate) for each in way]
            for way in possible_inputs(left, right, stated or {})
        ]

    assert pairs(specs("a", "b"), specs("x", "y")) == [
        [("a", "x"), ("b", "y")],
        [("a", "y"), ("b", "x")],
    ]
    assert pairs(specs("a", "b"), specs("x", "b")) == [[("b", "b"), ("a", "x")]]
    assert pairs(specs("a", "b"), specs("x", "y"), {"a": "y"}) == [[("a", "y"), ("b", "x")]]
    mixed = [*specs("a", "b"), *specs("c", shape=(5,))], [*specs("x"), *specs("z", shape=(5,))]
    assert not pairs(*mixed)
    assert len(pairs(specs(*"abcd"), specs(*"wxyz"))) == 24
    assert not pairs(specs(*"abcde"), specs(*"vwxyz"))
