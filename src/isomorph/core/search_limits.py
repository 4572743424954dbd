"""Limits of searches for inputs: extreme ones, and ones that show a difference.

See ``core.limits``.
"""

from __future__ import annotations

from isomorph.core.limits import Limit

OTHER_INPUTS = Limit(
    most=1 << 24,
    of="numbers are read and computed on other inputs, where nothing points to a difference",
    left_out="further inputs on which the models may differ",
)
"""Tenths of a second. Beyond: a model is tried on fewer other inputs, a large one on none."""

SPLIT_BOXES = Limit(
    most=64,
    of="parts of the ranges of the inputs are bounded singly",
    left_out="narrower parts of the ranges of the inputs",
)
"""Beyond: the bounds of the parts so far hold, and a tensor may stay open that smaller parts would
prove safe."""

SPLIT_ELEMENTS = 16
"""Elements of all inputs together up to which their ranges are split. Beyond: halving the range of
one of many elements hardly narrows a bound, and none is split."""

SPLIT_NODES = 4096
"""Nodes that are evaluated for all parts together. Beyond: the ranges of a large model are split
into fewer parts."""

AFFINE_ELEMENTS = 256
"""Elements of all inputs together up to which tensors are followed as affine functions of them.
Beyond: the bounds are those of plain intervals, which forget what moves together."""

AFFINE_TERMS = 512
"""Terms of an affine form: the elements of the inputs, and distances from a line behind functions.
Beyond: such a distance is bounded for each element by itself."""

AFFINE_RUNS = 1 << 16
"""Runs of single nodes for the terms of all forms, over all parts of the ranges. Beyond: a large
model has fewer terms or none, and so have narrow parts."""

AFFINE_WORTH = 1e-3
"""The share of what is followed exactly from which on a distance from a line gets a term of its
own. Below: it is bounded for each element by itself."""

AFFINE_NUMBERS = 1 << 23
"""Numbers of one affine form. Beyond: the tensor has an interval only."""

RANGE_SAMPLES = 48
"""Inputs within the ranges on which every tensor is measured, besides given samples."""

SEARCHED_TENSORS = Limit(
    most=6,
    of="tensors are searched for an input that overflows, those nearest to it first",
    left_out="searches for an input on which further open tensors overflow",
)
"""Beyond: such a tensor is open though an input may overflow it."""

SEARCHES = 4
"""Searches for an overflow, each from other inputs, where fewer tensors are open. Beyond: a tensor
stays open that a search from yet another input would overflow."""

SEARCH_ROUNDS = 24
"""Rounds of one search for an extreme input. Beyond: the best input so far is kept."""

SEARCH_CHILDREN = 16
"""Inputs that are evaluated in one round of a search."""

STRESS_STARTS = Limit(
    most=8,
    of="samples are what a search for the worst input starts from",
    left_out="a search that starts from further samples",
)
"""Beyond: further samples widen the ranges of the inputs only."""

STRESS_BUDGETS = Limit(
    most=96,
    of="inputs get a budget of their own in a search for the worst one",
    left_out="budgets of further inputs of the search",
)
"""Beyond: the worst input so far is kept."""

MINIMIZING_TRIALS = 32
"""Trials to set parts of the worst input back. Beyond: more of its elements stay changed than need
to."""

STALLED_ROUNDS = 6
"""Rounds of a search without a better input, after which it ends."""

TRAIL_STEPS = Limit(
    most=64,
    of="nodes behind the first tensor that leaves a type are listed",
    left_out="what its numbers grew from, farther back",
)
"""Beyond: the numbers may have grown before the first node of the list."""

MOST_PAIRINGS = 24
"""Ways to pair inputs of other names that are tried, which are those of four inputs. Beyond: none
is tried, and the user is asked to state the pairs."""
