"""What the answer about a pair has to be, found without isomorph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .generator import other_inputs
from .judge import Truth, Unjudged, judge, reach
from .pairs import Pair

DECISIONS = frozenset(
    {
        "Floor", "Ceil", "Round", "Sign", "Cast", "ArgMax", "ArgMin", "TopK", "Hardmax", "Where",
        "If", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "ThresholdedRelu", "Shrink",
    }
)  # fmt: skip
ELSEWHERE = 6
"""So many other inputs are tried for a changed constant that the given ones do not show."""


@dataclass(frozen=True)
class Expected:
    """``group``: clean, mutated, unreached, or why the pair is left out; ``verdicts`` accepted."""

    group: str
    verdicts: frozenset[str]
    truth: Truth | None = None

    @property
    def counts(self) -> bool:
        return bool(self.verdicts)


def left_out(group: str, truth: Truth | None = None) -> Expected:
    return Expected(group, frozenset(), truth)


def expected(pair: Pair) -> Expected:
    """The judge's answer; a pair that nobody can judge counts for nothing."""
    try:
        truth = truth_on(pair, pair.sample.inputs)
    except Unjudged as error:
        return left_out("unjudged", Truth("ambiguous", str(error)))
    except Exception as error:
        # Mutations may give what no runtime takes: another rank, a kernel that is missing.
        return left_out(
            "not runnable", Truth("ambiguous", f"{type(error).__name__}: {error}"[:300])
        )
    if pair.narrow_storage and not (pair.mutation and pair.mutation.constant) and _decides(pair):
        # A weight in fewer bits may move any decision, and few draws do not show how far.
        return left_out("in half with decisions", truth)
    if pair.mutation is None:
        if truth.kind == "equal":
            lost = ["degraded"] if pair.narrow_storage else []
            return Expected("clean", frozenset(["equivalent", *lost]), truth)
        return left_out("broken rewrite" if truth.kind == "different" else "ambiguous", truth)
    if pair.narrow_storage and pair.mutation.constant:
        if _differs_from_unmutated(pair):
            return Expected("in half", frozenset(["divergent"]), truth)
        return left_out("ambiguous", truth)
    if truth.kind == "different":
        accepted = ["divergent", "degraded"] if pair.mutation.lossy else ["divergent"]
        return Expected("mutated", frozenset(accepted), truth)
    if truth.kind == "ambiguous":
        return left_out("ambiguous", truth)
    if pair.mutation.constant and truth.exactly and _shows_elsewhere(pair):
        return Expected("unreached", frozenset(["divergent"]), truth)
    return left_out("no effect", truth)


def truth_on(pair: Pair, inputs: dict[str, np.ndarray]) -> Truth:
    """The judge's answer on these inputs."""
    reached = reach(pair.reference, inputs, pair.seed)
    loose = pair.narrow_storage
    return judge(reached, reach(pair.candidate, inputs, pair.seed + 1, loose=loose))


def _decides(pair: Pair) -> bool:
    return any(node.op_type in DECISIONS for node in pair.reference.graph.node)


def _differs_from_unmutated(pair: Pair) -> bool:
    """A weight that no rounding to its width explains, though its neighbors' roundings may."""
    sides = [reach(m, pair.sample.inputs, pair.seed) for m in (pair.unmutated, pair.candidate)]
    return judge(*sides).kind == "different"


def _shows_elsewhere(pair: Pair) -> bool:
    rng = np.random.default_rng(pair.seed + 2)
    for scale in (1.0, 1.0, 3.0, 3.0, 30.0, 1000.0)[:ELSEWHERE]:
        inputs = other_inputs(pair.sample, rng, scale)
        try:
            if truth_on(pair, inputs).kind == "different":
                return True
        except Exception:
            continue
    return False
