"""Which operators a cut needs, what it keeps, and how it is written."""

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.cut import Cutter
from isomorph.frameworks.tflite.flatbuffer_writer import build
from isomorph.frameworks.tflite.parse import parse
from tflite_building import Building, small


def cutter_of(model):
    return Cutter(parse(model.data(), file="m"))


def variables():
    """Two variables, of which one is assigned before it is read again."""
    model = Building()
    main, begin = model.graph(), model.graph("begin")
    handle = begin.tensor("handle", (), "resource")
    zero = begin.tensor("zero", (2,), value=[3, 4])
    begin.op("VAR_HANDLE", [], [handle], "VarHandle", sharedName=b"a")
    begin.op("ASSIGN_VARIABLE", [handle, zero], [], "AssignVariable")
    begin.ends([], [])
    x = main.tensor("x", (2,))
    a, again, b = (main.tensor(n, (), "resource") for n in ("a", "a again", "b"))
    old, total, new, other = (main.tensor(n, (2,)) for n in ("old", "total", "new", "other"))
    main.op("CALL_ONCE", [], [], "CallOnce", initSubgraphIndex=1)
    main.op("VAR_HANDLE", [], [a], "VarHandle", sharedName=b"a")
    main.op("READ_VARIABLE", [a], [old], "ReadVariable")
    main.op("ADD", [old, x], [total], "Add")
    main.op("ASSIGN_VARIABLE", [a, total], [], "AssignVariable")
    main.op("VAR_HANDLE", [], [again], "VarHandle", sharedName=b"a")
    main.op("READ_VARIABLE", [again], [new], "ReadVariable")
    main.op("VAR_HANDLE", [], [b], "VarHandle", sharedName=b"b")
    main.op("READ_VARIABLE", [b], [other], "ReadVariable")
    main.ends([x], [new])
    return model


def names(cutter, piece):
    return [cutter.graph.operators[place].name for place in piece.operators]


def test_a_cut_begins_at_what_is_fed():
    cutter = cutter_of(small())
    relu, product = cutter.find("net/relu"), cutter.find("net/product")
    piece = cutter.slice({cutter.find("net/conv")}, [product])
    assert names(cutter, piece) == ["RELU:1", "LOGISTIC:2", "MUL:3"]
    assert not piece.inputs
    piece = cutter.slice({relu}, [product])
    assert names(cutter, piece) == ["CONV_2D:0", "LOGISTIC:2", "MUL:3"]
    assert piece.inputs == (0,)


def test_what_is_read_from_a_variable_needs_what_was_assigned_before():
    cutter = cutter_of(variables())
    piece = cutter.slice({0}, [cutter.find("new")])
    assert names(cutter, piece) == [
        "CALL_ONCE:0", "VAR_HANDLE:1", "READ_VARIABLE:2", "ADD:3", "ASSIGN_VARIABLE:4",
        "VAR_HANDLE:5", "READ_VARIABLE:6",
    ]  # fmt: skip
    assert piece.stateful


def test_a_variable_before_its_assignment_and_another_one_need_only_the_beginning():
    cutter = cutter_of(variables())
    old = cutter.slice((), [cutter.find("old")])
    assert names(cutter, old) == ["CALL_ONCE:0", "VAR_HANDLE:1", "READ_VARIABLE:2"]
    other = cutter.slice((), [cutter.find("other")])
    assert names(cutter, other) == ["CALL_ONCE:0", "VAR_HANDLE:7", "READ_VARIABLE:8"]


def test_only_what_keeps_something_is_stateful():
    assert not cutter_of(small()).whole.stateful
    cutter = cutter_of(variables())
    assert cutter.whole.stateful
    fed = {0, cutter.find("old")}
    assert not cutter.slice(fed, [cutter.find("total")]).stateful


def test_what_constants_alone_determine_is_known():
    model = Building()
    graph = model.graph()
    x, half = graph.tensor("x", (2,)), graph.tensor("half", (2,), "float16", value=[1, 2])
    whole, y = graph.tensor("whole", (2,)), graph.tensor("y", (2,))
    graph.op("DEQUANTIZE", [half], [whole], version=3)
    graph.op("ADD", [x, whole], [y], "Add")
    cutter = cutter_of(graph.ends([x], [y]).model)
    assert cutter.fixed == {whole}


def test_a_cut_is_a_model_with_only_what_it_needs():
    cutter = cutter_of(small())
    program = cutter.program
    conv, mean = cutter.find("net/conv"), cutter.find("net/mean")
    piece = cutter.slice({conv}, [mean])
    cut = build(program, piece, [conv], [mean], {})
    again = parse(cut.data, file="cut")
    assert [each.op for each in again.main.operators] == ["RELU", "LOGISTIC", "MUL", "MEAN"]
    assert again.main.inputs == (cut.places[conv],)
    assert again.main.outputs == (cut.places[mean],)
    constants = [tensor.name for tensor in again.main.tensors if tensor.constant]
    assert constants == ["net/axes"]
    assert len(cut.data) < len(program.data)


def test_the_data_of_buffers_are_aligned():
    cutter = cutter_of(small())
    logits = cutter.find("net/logits")
    cut = build(cutter.program, cutter.slice({0}, [logits]), [0], [logits], {})
    whole = np.frombuffer(cut.data, np.uint8)
    start = whole.__array_interface__["data"][0]
    again = parse(cut.data, file="cut")
    checked = 0
    for tensor in again.main.tensors:
        array = again.array(tensor)
        if array is not None:
            assert (array.__array_interface__["data"][0] - start) % 16 == 0
            checked += 1
    assert checked == 5


def test_a_replaced_constant_stays_a_constant_even_of_another_shape():
    cutter = cutter_of(small())
    kernel, logits = cutter.find("head/kernel"), cutter.find("net/logits")
    other = np.full((5, 4), 2.0, np.float32)
    piece = cutter.slice({0, kernel}, [logits])
    cut = build(cutter.program, piece, [0], [logits], {kernel: other})
    again = parse(cut.data, file="cut")
    found = again.array(again.main.tensors[cut.places[kernel]])
    assert np.array_equal(found, other)


def test_a_second_output_that_is_replaced_goes_where_nobody_reads_it():
    model = Building()
    graph = model.graph()
    axis, x = graph.tensor("axis", (), "int32", value=0), graph.tensor("x", (4,))
    one, two, y = (graph.tensor(name, (2,)) for name in ("one", "two", "y"))
    graph.op("SPLIT", [axis, x], [one, two], "Split", numSplits=2)
    graph.op("ADD", [one, two], [y], "Add")
    cutter = cutter_of(graph.ends([x], [y]).model)
    piece = cutter.slice({x, two}, [y])
    cut = build(cutter.program, piece, [x, two], [y], {})
    split, add = parse(cut.data, file="cut").main.operators
    assert add.inputs == (split.outputs[0], cut.places[two])
    assert split.outputs[1] not in cut.places.values()


def test_bodies_are_kept_at_their_places():
    cutter = cutter_of(variables())
    new = cutter.find("new")
    cut = build(cutter.program, cutter.slice({0}, [new]), [0], [new], {})
    again = parse(cut.data, file="cut")
    assert again.main.operators[0].bodies == {"init": 1}
    assert [each.op for each in again.graphs[1].operators] == ["VAR_HANDLE", "ASSIGN_VARIABLE"]


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="net/relo") as caught:
        cutter_of(small()).find("net/relo")
    assert caught.value.fix == "did you mean 'net/relu'?"
