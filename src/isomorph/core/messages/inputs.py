"""How inputs are named that a check made or found: their origin."""

from __future__ import annotations

from collections.abc import Mapping

INPUTS: Mapping[str, str] = {
    "INPUT.in_range": "{origin}, in the calibrated range",
    "INPUT.other_name": "{origin}, its {given!r} for input {name!r}",
    "INPUT.times": "the given inputs times {factor:g}",
    "INPUT.generated_times": "generated: {sample}, seed {seed}{times}",
    "INPUT.generated": "generated: {sample}, seed {seed}",
    "INPUT.zero": "the given inputs times 0",
    "INPUT.halves": "the given inputs, rounded to halves",
    "INPUT.negated": "the given integers times -1",
    "INPUT.generated_sized": "generated: {sample}, seed {seed}, {sizes}",
    "INPUT.as_large": "{recipe}, as large as the given inputs",
    "INPUT.between_numbers": "inputs between the numbers of {name!r}, draw {draw}",
    "INPUT.given": "the given inputs",
    "INPUT.repeated": "the given inputs, repeated or cut to {sizes}",
    "INPUT.given_sizes": "the given sizes",
    "INPUT.one_generated": "the given inputs with {name!r} generated: {sample}, seed {seed}",
    "INPUT.one_negated": "the given inputs with {name!r} negated",
    "INPUT.one_halved": "the given inputs with {name!r} halved",
    "INPUT.row": "the given inputs with row {row} selected by {name!r}",
    "INPUT.weight": "the given inputs with {weight!r}{near} as {name!r}",
    "INPUT.generated_kind": "generated: {kind}, seed {seed}",
    "INPUT.like_given": "fresh: like the given ones, seed {seed}",
    "INPUT.redrawn": "fresh: the given values redrawn, seed {seed}",
}
