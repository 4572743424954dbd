"""Where in a tensor an error is; each stands behind ``where``."""

from __future__ import annotations

from collections.abc import Mapping

ERROR_LOCATIONS: Mapping[str, str] = {
    "WHERE.all": "all elements",
    "WHERE.some": "{count} of {total} elements",
    "WHERE.of_axis": "{indices} of axis {axis}",
    "WHERE.border": "within {width} of the border of axes {one} and {other}",
    "WHERE.index": "only at index {index}",
    "WHERE.every": "only at the {parity}indices {first}, {second}, …",
    "WHERE.end": "only at the {which} {count} indices",
    "WHERE.from_to": "only at indices {first} to {last}",
    "WHERE.both_ends": "only at both ends",
    "WHERE.indices": "at {count} of {total} indices",
    "WHERE.where_right_is": "only where it should be {value}",
    "WHERE.sign": "with its sign turned",
    "WHERE.factor": "by the factor {factor:.4g}",
    "WHERE.same_amount": "by the same amount, {amount:.3g}",
    "WHERE.amount_of_axis": "by one amount for each index of axis {axis}",
}
