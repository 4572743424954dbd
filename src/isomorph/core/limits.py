"""Limits of what is looked at, each with what happens when it is hit.

No limit here makes a verdict better than it is: what a limit leaves out is in the report, or the
verdict is lowered by it. A ``Limit`` that is hit during a check becomes an entry of the report's
``skipped``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so many of something; ``left_out`` is what is not looked at beyond it."""

    most: int
    of: str
    left_out: str

    @property
    def why(self) -> str:
        """The limit in words: ``at most 12 wrong nodes are looked for``."""
        return f"at most {self.most:,} {self.of}"

    def reached(self) -> None:
        """Note that something was left out, for the check that is under way."""
        noted = _NOTED.get()
        if noted is not None:
            noted[self] = None

    def first(self, items: Iterable[T]) -> Iterator[T]:
        """The items up to the limit; that there are more is noted once they are asked for."""
        for place, item in enumerate(items):
            if place >= self.most:
                self.reached()
                return
            yield item


_NOTED: ContextVar[dict[Limit, None] | None] = ContextVar("noted limits", default=None)


@contextmanager
def noted_limits() -> Iterator[dict[Limit, None]]:
    """The limits that are hit meanwhile, each once; the caller decides how to report them."""
    noted: dict[Limit, None] = {}
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


MOST_REASONS = 8
"""Distinct reasons that a report keeps for one output that was not compared. Beyond: the counts
still hold, and the reasons of further inputs are left out."""

MOST_LAYOUTS = 24
"""Arrangements of the candidate's inputs that are tried, where several fit. Beyond: the report
states how many were not tried; a wrong choice shows as a divergence, never as its absence."""

MOST_EXAMINED = 3
"""Samples of a test set that are examined node by node. Beyond: every sample is still judged;
once the models are divergent, those after it are only run, and the report counts them as not
compared."""

MOST_SUSPECT_CONSTANTS = 8
"""Constants that differ from the reference's in a few elements and are examined by runs. Beyond:
the first ones count where an input shows the difference or none reaches them, and the report states
how many were not examined."""

MOST_PROBED_NODES = 24
"""Nodes of a side that are given edge values. Beyond: the report counts those not probed."""

MOST_PROBED_VALUES = 1 << 22
"""Values of all probes of a side together. Beyond: as for the nodes; small ones come first."""

MOST_BODIES = 24
"""Nodes whose bodies are looked into for the error profile; each is cut out and loaded as a model
of its own. Beyond: the report states that others were not looked into."""

# What is compared

SIZE_COMBINATIONS = Limit(
    most=16,
    of="combinations of sizes of dynamic axes are tried, the smallest first",
    left_out="further sizes of dynamic axes",
)
"""Beyond: nothing is known of the larger sizes; a test set may hold more."""

AXES = Limit(
    most=6,
    of="axes of a tensor are tried in other orders",
    left_out="other orders of the axes of a tensor that has more",
)
"""Beyond: such a tensor corresponds only to one with its axes in the same order."""

# The budget of an output

DRAWN_BYTES = Limit(
    most=512 << 20,
    of="bytes of draws of one tensor are kept, or less where memory is short",
    left_out="the values that single draws of a large tensor reached",
)
"""Beyond: of this tensor only the moments of the draws are known, so an element that jumps is
compared with their deviation and not with the values that it reached."""

OPEN_DECISIONS = Limit(
    most=4,
    of="open decisions of one run are tried both ways",
    left_out="further branches that hang on less than rounding",
)
"""Beyond: such a branch is taken as the oracle takes it, which the run may not have done."""

# Which node is wrong

SUBSTITUTIONS = Limit(
    most=150,
    of="substitutions are tried in one search for a wrong node",
    left_out="further places that may be wrong",
)
"""Beyond: only those by the same operator, as many again. A later wrong node, or none, is named."""

DISTANCE = Limit(
    most=16,
    of="nodes behind the last right tensor are searched",
    left_out="places farther behind the last right tensor",
)
"""Beyond: none is named where nothing nearer restores an output."""

TENSORS_BEHIND = Limit(
    most=24,
    of="tensors behind a substitution are asked whether it restores them",
    left_out="further tensors behind a substitution",
)
"""Beyond: a substitution that restores only others counts for nothing, and a later node may be
named instead."""

PASSED_ON = Limit(
    most=5,
    of="nodes that pass a tensor on are followed back",
    left_out="what was passed on by more nodes",
)
"""Beyond: a tensor that was read at the wrong place, farther back, is not recognized."""

WRONG_NODES = Limit(
    most=12,
    of="wrong nodes are looked for",
    left_out="further wrong nodes",
)
"""Beyond: outputs that are still wrong stay unexplained."""

NODE_OUTPUTS = Limit(
    most=4,
    of="outputs of one node are paired in every order",
    left_out="other orders of the outputs of a node",
)
"""Beyond: outputs are paired by their places, and a node whose outputs changed places may hide
in a group."""

AXIS_ORDERS = Limit(
    most=24,
    of="orders of axes are tried for one tensor",
    left_out="further orders of the axes of a tensor",
)
"""Beyond: a tensor whose axes stand in another order has no counterpart."""

ROUNDS = Limit(
    most=16,
    of="rounds of a loop are entered",
    left_out="later rounds of a loop",
)
"""Beyond: a loop whose rounds differ later is named as a whole."""

NESTED_BODIES = Limit(
    most=4,
    of="bodies inside each other are entered",
    left_out="bodies that lie deeper",
)
"""Beyond: the node that holds the body is named, and none inside."""

FIRST_NODES = Limit(
    most=3,
    of="first nodes of a trace are named",
    left_out="further nodes at which the values part",
)
"""Beyond: the report names the first ones only."""

STRETCHES = Limit(
    most=24,
    of="stretches of the other model are tried in the place of one node",
    left_out="further stretches that may stand for a node",
)
"""Beyond: a node may be called latently different though a stretch that was not tried agrees."""

EQUAL_TENSORS = Limit(
    most=4,
    of="equal tensors are tried as the end of a stretch",
    left_out="further tensors of equal values",
)
"""Beyond: as for stretches."""

NODES_BEHIND = Limit(
    most=5,
    of="nodes after a substitution, without those that pass values on, are searched",
    left_out="tensors farther after a substitution",
)
"""Beyond: a substitution that restores only tensors farther away counts for nothing."""

# Which tensors and constants correspond

SAME_VALUES = Limit(
    most=8,
    of="tensors of equal values are compared with one tensor",
    left_out="further tensors of equal values",
)
NEAR_QUANTIZED = Limit(
    most=16,
    of="tensors are compared with one quantized tensor",
    left_out="further tensors that may be a quantized one",
)
SAME_SIZE_CONSTANTS = Limit(
    most=8,
    of="constants of one size are compared with one constant of the alignment",
    left_out="further constants of the same size",
)
CONSTANTS_AT_PLACE = Limit(
    most=32,
    of="constants of one place are examined for concatenations",
    left_out="concatenated constants at a place with more",
)
"""Beyond, for these: the alignment may leave a tensor or a constant unpaired."""

MERGED_AXES = Limit(
    most=4,
    of="axes of a weight are merged in every order",
    left_out="merged axes of a weight that has more",
)
"""Beyond: of a weight with merged axes it is not known whether it differs."""

FOLDED_STEPS = Limit(
    most=6,
    of="nodes after a linear node are folded into its weight and bias",
    left_out="factors and offsets farther after a linear node",
)
"""A bias, a normalization and changes of layout. Beyond: of a weight into which more was folded
it is not known whether it differs."""

SCALE_STEPS = Limit(
    most=3,
    of="nodes after a product are searched for its factor",
    left_out="factors farther after a product",
)
ORIGIN_WEIGHTS = Limit(
    most=8,
    of="float weights are compared with one quantized weight",
    left_out="further float weights of the same size",
)
"""Beyond: the float weight that a quantized one was made from may not be found."""

# Constants

LIKE_WEIGHTS = Limit(
    most=64,
    of="weights of one size are compared with one weight",
    left_out="further weights of the same size",
)
"""Beyond: of a weight whose counterpart is not among them it is not known whether it differs."""

LOOKED_UP_NUMBERS = Limit(
    most=1 << 24,
    of="numbers of one weight are looked up vector by vector",
    left_out="the vectors of a large weight",
)
"""Beyond: of a weight that was joined from others it is not known whether it differs."""

MISSING_VECTORS = Limit(
    most=8,
    of="vectors of a joined weight are compared with those of the reference that are left over",
    left_out="a joined weight of which more vectors differ",
)
"""Beyond: more are no single numbers that were spoiled, and only runs judge the weight."""

UNPAIRED_USES = Limit(
    most=4,
    of="constants of one use are paired where their numbers differ",
    left_out="constants of few elements whose numbers differ",
)
"""Beyond: so many at once are a rewrite rather than changed constants, and only runs judge them."""

SHOWN_INPUTS = Limit(
    most=8,
    of="inputs that show a difference of a weight are judged",
    left_out="further inputs that show a difference of a weight",
)
"""Beyond: the difference counts as shown by none of them."""

SELECTION_INPUTS = Limit(
    most=4,
    of="inputs are tried for a decision that only one model makes",
    left_out="further inputs that may show a decision that only one model makes",
)
"""Beyond: the input that shows a difference may be missed."""

ATTRIBUTE_SCALES = Limit(
    most=12,
    of="factors of the inputs bring data to the numbers of attributes that differ",
    left_out="further inputs that may show a difference of an attribute",
)
"""Beyond: the input that shows a difference may be missed."""

TRIED_WEIGHTS = Limit(
    most=1 << 28,
    of="numbers are read in trials of one weight, on six inputs at least",
    left_out="further inputs that may show a difference of a weight",
)
"""Weights of the model times trials. Beyond: the input that shows a difference may be missed."""

# What a report holds

QUANTIZED_TENSORS = 300
"""Quantized tensors that are measured unless the user asks for all. Beyond: the report lists their
parameters alone, and says so."""

KEPT_IN_FLOAT = (3, 128)
"""Least and most quantized tensors that are tried in float, the worst first, each by a float64 run
of the model. Beyond: the gain of the others is not in the table."""

KEPT_IN_FLOAT_WEIGHTS = 1 << 28
"""Weights that are read in all these runs together. Beyond: fewer tensors of a large model are
tried, and at least as many as above."""

REPORTED_INPUT_BYTES = 4 << 20
"""Bytes of an input that shows a difference, up to which the report holds its values. Beyond: the
report states how it is made."""

RANKED_PAIRS = 4096
"""Pairs of equal small constants among which the nearest are searched. Beyond: they correspond in
their order."""

RESIZED_ELEMENTS = 1 << 20
"""Elements of all inputs together up to which dynamic axes of given inputs are doubled, to try
other sizes. Beyond: they are only halved."""

# What a conversion stores otherwise

UNDERFLOW_ELEMENTS = 4096
"""Elements of a constant in which numbers are looked for that a narrow float type stores as zero.
Beyond: what such a number moves counts as a difference of the models, never as a loss."""

UNROUNDED_NUMBERS = 2**27
"""Numbers of narrow weights whose origins are kept. Beyond: losses are judged by noise alone."""
COINCIDING_ELEMENTS = 4096
"""Elements of a weight of which two origins may round to the same. Larger ones do not coincide."""

ROUTE_STEPS = 4
"""Converters that a route may chain. Beyond: it is not planned, because each step adds errors."""

CALIBRATION_SAMPLES = 512
"""Samples of a test set that calibrate a quantizer: ranges hardly move after the first hundreds.
Beyond: a sample does not widen a range, and is compared all the same."""

# How inputs are generated

FOLLOWED_MASK_NODES = 4
"""Nodes that hand a tensor on and are followed to the range it is compared with. Beyond: it is not
known to hold lengths, and is drawn as any other integers."""

# What lint looks at

SIGN_STEPS = 12
"""Nodes that are followed back to learn the sign of an operand. Beyond: it counts as unknown."""

# What an oracle keeps between runs; no result depends on these

LIFTED_WEIGHT_BYTES = 16 << 20
"""Bytes of stored tensors and their float64 copies. Beyond: each is read and lifted when used."""

DRAWS_AT_ONCE_BYTES = 128 << 20
"""Bytes of the tensors of draws that share each lifted weight. Beyond: fewer draws at a time."""

FOLDED_CONSTANT_BYTES = 512 << 20
"""Bytes of results that follow from stored tensors alone. Beyond: every run computes them."""

KEPT_PLANS = 64
"""Plans of runs, one for each pair of feeds and fetches. Beyond: all are dropped and made again."""

TAIL_ENTRY_BYTES = 256 << 20
"""Bytes of the tensors at which the tail of a graph begins, where nothing limits the process to
less. Beyond: the noise of the whole graph is drawn at once."""

BATCH_BYTES = 64 << 20
"""Bytes of the results of samples that are evaluated together. Beyond: fewer at a time."""
