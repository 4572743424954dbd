"""Operators of OpenVINO as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

from isomorph.core.operator_tables import OperatorTables

TABLES = OperatorTables(
    parameter_inputs={
        "Transpose": {"perm": 1},
        "Gather": {"axis": 2},
        "Split": {"axis": 1},
        "VariadicSplit": {"axis": 1},
        "Pad": {"pads_begin": 1, "pads_end": 2, "constant_value": 3},
        "Slice": {"start": 1, "stop": 2, "step": 3, "axes": 4},
        "StridedSlice": {"begin": 1, "end": 2, "strides": 3},
        "HardSigmoid": {"alpha": 1, "beta": 2},
        "Swish": {"alpha": 1},
        "Broadcast": {"shape": 1},
        "MVN": {"axes": 1},
        "NormalizeL2": {"axes": 1},
    },
    slice_bounds={"Slice": ("start", "stop"), "StridedSlice": ("begin", "end")},
)
