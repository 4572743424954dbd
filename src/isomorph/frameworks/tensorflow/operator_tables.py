"""Operators of TensorFlow as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

from isomorph.core.operator_tables import OperatorTables

TABLES = OperatorTables(clip_bounds={"Relu6": (0.0, 6.0)})
