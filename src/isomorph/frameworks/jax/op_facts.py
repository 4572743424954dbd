"""What is known of StableHLO's operations by their names; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping

RETURN = frozenset({"func.return", "stablehlo.return"})
"""The ends of functions and regions."""

BODY_NAMES: Mapping[str, tuple[str, ...]] = {
    "while": ("cond", "body"),
    "if": ("then", "else"),
    "reduce": ("reducer",),
    "reduce_window": ("reducer",),
    "scatter": ("update",),
    "sort": ("comparator",),
    "map": ("function",),
}
"""What the regions of an operation are called."""

CONTROL = frozenset({"while", "if", "case"})
"""Operations whose regions are branches and loops."""

COMPOSITES: Mapping[str, str] = {
    "chlo.erf": "Erf", "chlo.asin": "Asin", "chlo.acos": "Acos", "chlo.atan": "Atan",
    "chlo.sinh": "Sinh", "chlo.cosh": "Cosh", "chlo.asinh": "Asinh", "chlo.acosh": "Acosh",
    "chlo.atanh": "Atanh", "chlo.top_k": "TopK", "chlo.square": "Square",
}  # fmt: skip
"""Named functions that XLA computes by their names; all others are what they consist of."""

CUSTOM_CALLS: Mapping[str, str] = {
    "mhlo.erf": "Erf", "mhlo.topk": "TopK", "Sharding": "Identity",
    "annotate_device_placement": "Identity", "shape_assertion": "",
}  # fmt: skip
"""Calls by name that have a meaning here; an empty one computes nothing."""

RUN_CALLS = frozenset(CUSTOM_CALLS) | {
    "stablehlo.dynamic_reduce_window", "stablehlo.dynamic_top_k", "AllocateBuffer",
    "lapack_spotrf_ffi", "lapack_dpotrf_ffi", "lapack_sgetrf_ffi", "lapack_dgetrf_ffi",
    "lapack_sgeqrf_ffi", "lapack_dgeqrf_ffi", "lapack_sorgqr_ffi", "lapack_dorgqr_ffi",
    "lapack_ssyevd_ffi", "lapack_dsyevd_ffi", "lapack_sgesdd_ffi", "lapack_dgesdd_ffi",
    "lapack_strsm_ffi", "lapack_dtrsm_ffi", "blas_strsm", "blas_dtrsm",
    "cu_lu_pivots_to_permutation", "cu_threefry2x32_ffi", "cusolver_potrf_ffi",
    "cusolver_getrf_ffi", "cusolver_geqrf_ffi", "cusolver_orgqr_ffi", "cusolver_syevd_ffi",
    "cusolver_gesvd_ffi", "cusolver_gesvdj_ffi",
}  # fmt: skip
"""Calls that a run may make. Others may call back into a process by an address in the file."""

RANDOM = frozenset({"rng", "rng_bit_generator"})
"""Operations that draw random numbers."""

MOVES = frozenset(
    {
        "broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape", "dynamic_reshape", "transpose",
        "slice", "real_dynamic_slice", "dynamic_slice", "dynamic_update_slice", "concatenate",
        "reverse", "pad", "dynamic_pad", "gather", "dynamic_gather", "select", "iota",
        "dynamic_iota", "optimization_barrier", "sort", "bitcast_convert", "get_dimension_size",
        "broadcast", "real", "imag", "complex",
    }
)  # fmt: skip
"""Operations that move values and compute none."""

EXACT = MOVES | frozenset(
    {
        "abs", "negate", "sign", "floor", "ceil", "round_nearest_even", "round_nearest_afz",
        "maximum", "minimum", "clamp", "compare", "and", "or", "xor", "not", "is_finite",
        "shift_left", "shift_right_logical", "shift_right_arithmetic", "popcnt",
        "count_leading_zeros", "convert", "reduce_precision", "custom_call:Sharding",
    }
)  # fmt: skip
"""Operations that round nothing, or state the rounding themselves."""

DISCRETE = frozenset({"sign", "floor", "ceil", "round_nearest_even", "round_nearest_afz"})
"""Operations whose float result is discrete among constants."""
