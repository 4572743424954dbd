"""Reading TFLite files: names, values, options, and everything that can be wrong."""

import itertools
import math

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.buffers import packed
from isomorph.frameworks.tflite.file_signature import looks_like_model
from isomorph.frameworks.tflite.parse import parse
from tflite_building import Building, small, unknown


def program_of(model):
    return parse(model.data(), file="m.tflite")


def refusal(model):
    with pytest.raises(UnreadableModelError) as caught:
        program_of(model)
    return caught.value


def through(dtype="float32", shape=(2,), **more):
    """One constant added to nothing: a model around a single tensor to look at."""
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (2,)), graph.tensor("y", (2,))
    graph.tensor("stored", shape, dtype, **more)
    graph.op("RELU", [x], [y])
    graph.ends([x], [y])
    return model


def stored(model):
    program = program_of(model)
    return program.array(program.main.tensors[program.index["stored"]])


def test_names_are_the_files_own_and_never_twice_the_same():
    model = Building()
    graph = model.graph()
    tensors = [graph.tensor(name, (2,)) for name in ("a", "b", "b", None, "b#1", "")]
    for source, target in itertools.pairwise(tensors):
        graph.op("RELU", [source], [target])
    graph.ends(tensors[:1], tensors[-1:])
    names = [tensor.name for tensor in program_of(model).main.tensors]
    assert names == ["a", "b#1#", "b#2", "tensor#3", "b#1", "tensor#5"]


def test_the_signature_names_inputs_and_outputs_and_wins_over_other_tensors():
    model = small()
    model.made.subgraphs[0].tensors[1].name = b"answer"
    model.signature("serving_default", {"image": 0}, {"answer": 11, "label": 13})
    program = program_of(model)
    assert program.index["image"] == 0
    assert program.index["answer"] == 11
    assert program.main.tensors[1].name == "answer#1"
    assert program.signature.key == "serving_default"


def test_an_output_that_is_an_input_has_two_names_and_a_stolen_name_stays_the_inputs():
    model = small()
    model.made.subgraphs[0].outputs = np.array([0, 11], np.int32)
    model.signature("serve", {"x": 0}, {"copy": 0, "x": 11})
    program = program_of(model)
    assert program.aliases == {"copy": 0}
    assert program.index["x"] == 0
    assert program.main.tensors[11].name == "net/logits"


def test_the_usual_signature_is_taken_among_several():
    model = small()
    model.signature("other", {"b": 0}, {"c": 11})
    model.signature("serving_default", {"image": 0}, {"logits": 11})
    assert program_of(model).main.tensors[0].name == "image"


def test_options_are_spelled_as_the_schema_writes_them():
    model = Building()
    graph = model.graph()
    x, w = graph.tensor("x", (1, 4, 4, 1)), graph.tensor("w", (1, 3, 3, 1), value=np.ones(9))
    y, z = graph.tensor("y", (1, 2, 2, 1)), graph.tensor("z", (1, 2, 2, 1), "int64")
    graph.op(
        "CONV_2D", [x, w, -1], [y], "Conv2D", padding=schema.Padding.VALID, strideW=2,
        fusedActivationFunction=schema.ActivationFunctionType.RELU6,
    )  # fmt: skip
    graph.op(
        "CAST", [y], [z], "Cast", inDataType=schema.TensorType.FLOAT32,
        outDataType=schema.TensorType.INT64,
    )  # fmt: skip
    conv, cast = program_of(graph.ends([x], [z]).model).main.operators
    assert conv.name == "CONV_2D:0"
    assert conv.inputs == (x, w, -1)
    assert conv.options["padding"] == "VALID"
    assert conv.options["fused_activation_function"] == "RELU6"
    assert conv.options["stride_w"] == 2
    assert cast.options == {"in_data_type": "float32", "out_data_type": "int64"}


def test_old_writers_have_the_operator_in_the_deprecated_field_only():
    model = small()
    for code in model.made.operatorCodes:
        code.builtinCode = 0
    operators = [operator.op for operator in program_of(model).main.operators]
    assert operators == [operator.op for operator in program_of(small()).main.operators]


def test_a_custom_operator_keeps_its_own_name():
    (operator,) = program_of(unknown("Frobnicate")).main.operators
    assert operator.custom
    assert operator.name == "Frobnicate:0"


def test_quantization_is_read_with_its_axis_only_where_there_are_several_scales():
    model = through("int8", (3, 2), value=np.ones((3, 2)), scale=[0.5, 0.25, 1.0], zero=0, axis=0)
    tensor = program_of(model).main.tensors[2]
    assert (tensor.quantization.scales, tensor.quantization.axis) == ((0.5, 0.25, 1.0), 0)
    one = program_of(through("int8", (2,), value=[1, 2], scale=0.5, zero=-3)).main.tensors[2]
    assert (one.quantization.zero_points, one.quantization.axis) == ((-3,), None)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "uint8"])
def test_values_are_views_of_the_file(dtype):
    found = stored(through(dtype, (2, 2), value=np.array([[1, 0], [0, 1]])))
    assert found.dtype.name == dtype
    assert not found.flags.writeable
    assert np.array_equal(found.astype(float), np.eye(2))


@given(st.sampled_from(["int4", "uint4", "int2"]), st.lists(st.integers(-8, 15), max_size=9))
def test_packed_integers_come_back(dtype, numbers):
    low, high = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1)}[dtype]
    array = np.clip(np.array(numbers, np.int8), low, high)
    model = through(dtype, array.shape, raw=packed(array, dtype))
    assert stored(model).astype(int).tolist() == array.tolist()


def test_strings_are_decoded():
    words = np.array(["one", "", "drei ü"], object)
    assert stored(through("string", (3,), raw=packed(words, "string"))).tolist() == words.tolist()


def test_a_constant_without_elements_is_a_constant():
    model = Building()
    graph = model.graph()
    x, shape = graph.tensor("x", (1,)), graph.tensor("shape", (0,), "int32")
    y = graph.tensor("y", ())
    graph.op("RESHAPE", [x, shape], [y])
    program = program_of(graph.ends([x], [y]).model)
    assert program.array(program.main.tensors[shape]).shape == (0,)
    assert program.array(program.main.tensors[x]) is None


def test_buffers_behind_the_flatbuffer_are_found_by_their_offset():
    model = through("float32", (3,), value=[0, 0, 0])
    size = len(model.data())
    buffer = model.made.buffers[1]
    values = np.array([1.5, -2.0, 3.0], np.float32)
    # An offset makes the table longer: write twice, so that the offset points behind it.
    for _ in range(2):
        buffer.data, buffer.offset, buffer.size = None, size, values.nbytes
        size = len(model.data())
    program = parse(model.data() + values.tobytes(), file="m")
    assert program.array(program.main.tensors[2]).tolist() == values.tolist()


def sparsity(order, levels, blocks=()):
    made = schema.SparsityParametersT()
    made.traversalOrder, made.blockMap = np.array(order, np.int32), np.array(blocks, np.int32)
    made.dimMetadata = []
    for level in levels:
        axis = schema.DimensionMetadataT()
        if isinstance(level, int):
            axis.denseSize = level
        else:
            axis.format = schema.DimensionType.SPARSE_CSR
            axis.arraySegmentsType = axis.arrayIndicesType = schema.SparseIndexVector.Int32Vector
            axis.arraySegments, axis.arrayIndices = (
                schema.Int32VectorT(),
                schema.Int32VectorT(),
            )
            axis.arraySegments.values = np.array(level[0], np.int32)
            axis.arrayIndices.values = np.array(level[1], np.int32)
        made.dimMetadata.append(axis)
    return made


def test_compressed_rows_are_written_out():
    rows = sparsity([0, 1], [3, ([0, 1, 1, 3], [2, 0, 3])])
    found = stored(through(shape=(3, 4), value=[5, 6, 7], sparsity=rows))
    assert found.tolist() == [[0, 0, 5, 0], [0, 0, 0, 0], [6, 0, 0, 7]]


def test_blocks_and_another_order_of_axes_are_written_out():
    # Columns first; 2x2 blocks, of which the lower left and the upper right one are stored.
    whole = np.array([[0, 0, 1, 2], [0, 0, 3, 4], [5, 6, 0, 0], [7, 8, 0, 0]], np.float32)
    blocks = sparsity([1, 0, 2, 3], [2, ([0, 1, 2], [1, 0]), 2, 2], blocks=[0, 1])
    values = [5, 6, 7, 8, 1, 2, 3, 4]
    found = stored(through(shape=(4, 4), value=values, sparsity=blocks))
    assert found.tolist() == whole.tolist()


@pytest.mark.parametrize(
    "levels",
    [
        [3, ([0, 1, 1, 9], [2, 0, 3])],
        [3, ([0, 1], [2])],
        [3, ([0, 2, 1, 3], [2, 0, 3])],
        [3, ([0, 1, 1, 3], [2, 0, 7])],
    ],
)
def test_sparse_levels_that_lead_nowhere_are_refused(levels):
    model = through(shape=(3, 4), value=[5, 6, 7], sparsity=sparsity([0, 1], levels))
    assert refusal(model).code == "TENSOR_SIZE_MISMATCH"


def test_a_model_without_identifier_is_known_by_its_first_table():
    assert looks_like_model(small().data())
    assert looks_like_model(small().data(identifier=None))
    assert (
        program_of(small()).main.operators
        == parse(small().data(identifier=None), file="m").main.operators
    )


@given(st.binary(max_size=200))
def test_noise_is_no_model(data):
    assert not looks_like_model(data) or data[4:8] == b"TFL3"


@given(st.data())
def test_any_prefix_is_read_or_refused_but_never_surprises(data):
    whole = small().data()
    with pytest.raises(UnreadableModelError):
        parse(whole[: data.draw(st.integers(0, len(whole) * 3 // 4))], file="m")


def swapped(graph, _):
    graph.operators[:2] = [graph.operators[1], graph.operators[0]]


def vector(*numbers):
    return np.array(numbers, np.int32)


FAULTS = {
    "no tensor": ("DANGLING_INPUT", lambda g, _: setattr(g.operators[0], "inputs", vector(0, 99))),
    "no code": ("MODEL_TRUNCATED", lambda g, _: setattr(g.operators[0], "opcodeIndex", 50)),
    "no buffer": ("MODEL_TRUNCATED", lambda g, _: setattr(g.tensors[1], "buffer", 77)),
    "no type": ("BAD_DTYPE", lambda g, _: setattr(g.tensors[1], "type", 99)),
    "negative": ("BAD_DIMS", lambda g, _: setattr(g.tensors[0], "shape", vector(2, -6, 6, 3))),
    "huge": (
        "BAD_DIMS",
        lambda g, _: setattr(g.tensors[1], "shape", vector(*[2**31 - 1] * 4)),
    ),
    "short": (
        "TENSOR_SIZE_MISMATCH",
        lambda _, m: setattr(m.buffers[1], "data", m.buffers[1].data[:10]),
    ),
    "later": ("GRAPH_CYCLE", swapped),
    "nothing computes it": ("DANGLING_INPUT", lambda g, _: g.operators.pop(0)),
    "twice": (
        "NOT_SSA",
        lambda g, _: setattr(g.operators[1], "outputs", g.operators[0].outputs),
    ),
    "no output": ("MODEL_TRUNCATED", lambda g, _: setattr(g, "outputs", vector(500))),
    "never computed": ("MODEL_TRUNCATED", lambda g, _: g.operators.pop()),
    "empty": ("MODEL_TRUNCATED", lambda _, m: m.subgraphs.clear()),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_what_is_wrong_is_called_by_its_name(kind):
    code, spoil = FAULTS[kind]
    model = small()
    spoil(model.made.subgraphs[0], model.made)
    error = refusal(model)
    assert error.code == code
    assert error.file == "m.tflite"


def test_a_signature_that_names_no_tensor_is_refused():
    model = small()
    model.signature("s", {"x": 0}, {"y": 1000})
    assert refusal(model).code == "MODEL_TRUNCATED"


def test_weights_in_other_files_are_not_followed():
    model = small()
    group, buffer = schema.ExternalBufferGroupT(), schema.ExternalBufferT()
    group.name, buffer.length = b"../../etc/passwd", 4
    model.made.externalBufferGroups, model.made.externalBuffers = [group], [buffer]
    assert refusal(model).code == "UNSUPPORTED_FORMAT"


def test_quantization_of_its_own_form_is_refused_by_the_tensors_name():
    model = through("int8", (2,), value=[1, 2], scale=0.5)
    given = model.made.subgraphs[0].tensors[2].quantization
    given.detailsType = schema.QuantizationDetails.CustomQuantization
    given.details = schema.CustomQuantizationT()
    error = refusal(model)
    assert error.code == "UNSUPPORTED_QUANTIZATION"
    assert "stored" in error.where


def test_names_that_are_no_unicode_are_spelled_out():
    model = small()
    model.made.subgraphs[0].tensors[3].name = b"net/\xff\xfe"
    assert program_of(model).main.tensors[3].name == "net/\\xff\\xfe"


def nested(calls):
    """Sub-graph k calls the ones listed; each passes its input through."""
    model = Building()
    for index, inner in enumerate(calls):
        graph = model.graph(f"g{index}")
        x, c = graph.tensor("x", (1,)), graph.tensor("c", (), "bool", value=True)
        last = x
        for place, called in enumerate(inner):
            y = graph.tensor(f"y{place}", (1,))
            graph.op("IF", [c, last], [y], "If", thenSubgraphIndex=called, elseSubgraphIndex=called)
            last = y
        graph.ends([x], [last])
    return model


def test_a_body_that_calls_itself_is_refused():
    error = refusal(nested([[1], [2], [1]]))
    assert error.code == "RECURSIVE_FUNCTION"
    assert "1 → 2 → 1" in error.where


def test_bodies_that_are_too_many_once_written_out_are_refused_at_once():
    chain = [[index + 1, index + 1] for index in range(20)]
    assert math.log10(4**20) > 12, "far too many to write out"
    assert refusal(nested([*chain, []])).code == "NESTING_TOO_DEEP"


def test_bodies_may_be_nested_thirty_deep():
    model = Building()
    for index in range(31):
        graph = model.graph()
        x, y, c = graph.tensor("x", (1,)), graph.tensor("y", (1,)), graph.tensor("c", (), "bool")
        graph.made.tensors[c].buffer = model.buffer(b"\1")
        if index < 30:
            operator = graph.op("CALL_ONCE", [], [], "CallOnce", initSubgraphIndex=index + 1)
            assert operator.builtinOptions.initSubgraphIndex == index + 1
        graph.op("RELU", [x], [y])
        graph.ends([x], [y])
    assert len(program_of(model).graphs) == 31
