"""The goals of speed in one table: what isomorph takes, beside Polygraphy and plain inferences.

ResNet-50 as exported, and with two output channels of one convolution exchanged; a BERT of 110
million parameters; 200 samples of a small CNN; a U-Net at 256×256 with one wrong weight; one pass
in float64. Polygraphy compares ONNX Runtime on two files by two commands. A plain inference is one
run of the candidate in ONNX Runtime, in CPU seconds; the start-up is what a network of one layer
takes. The goals for 16 cores and for CUDA need another machine, and are not measured here.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from measuring.tables import table, write_json
from networks.files import Files
from peers import TITLES, Measured, Pair, by_isomorph, by_polygraphy, shown

if TYPE_CHECKING:
    from networks.torch_networks import Network

STEP = Path(__file__).resolve().parent / "measuring" / "step.py"
SAMPLES, SAMPLES_BRIEF = 200, 40
PLAIN_RUNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One figure and the largest that it is to be."""

    work: str
    figure: str
    value: float
    at_most: float

    @property
    def met(self) -> bool:
        """Whether it is small enough."""
        return self.value <= self.at_most


class Subject:
    """The files of a network, and what one plain inference of it takes."""

    def __init__(self, network: Network) -> None:
        from networks.torch_networks import written

        self.files: Files = written(network)

    @cached_property
    def plain_cpu_seconds(self) -> float:
        """CPU seconds of one run: the difference between many and one, without the start."""
        one, runs = self._cpu_seconds(1), PLAIN_RUNS
        # A short run is lost in the variation of the start: as many as take longer than it.
        while (beyond := self._cpu_seconds(1 + runs) - one) < one:
            runs *= 4
        return beyond / runs

    def _cpu_seconds(self, runs: int) -> float:
        words = [sys.executable, str(STEP), "plain", str(self.files.candidate)]
        before = _children_seconds()
        subprocess.run(
            [*words, str(self.files.inputs)], input="step\n" * runs, text=True, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return _children_seconds() - before


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(slots=True)
class Results:
    """What was measured, and the goals that it meets or misses."""

    rows: list[Measured]
    goals: list[Goal]

    def add(self, row: Measured, *goals: Goal) -> None:
        """One more row and its goals."""
        self.rows.append(row)
        self.goals += goals
        print(f"… {row.pair}, {row.tool}: {row.cpu_seconds:.1f} CPU s", flush=True)


def image_network(results: Results, network: Network, startup: float, folder: Path) -> None:
    """Clean and with a fault, beside Polygraphy."""
    from networks.altered import with_exchanged_channels

    subject = Subject(network)
    files, target = subject.files, folder / "exchanged.onnx"
    node = with_exchanged_channels(files.candidate, target)
    clean = Pair(title=f"{files.name}, clean", candidate=files.candidate, faulty_node=None)
    fault = Pair(title=f"{files.name}, two channels exchanged", candidate=target, faulty_node=node)
    for pair, at_most in ((clean, 0.35), (fault, 0.7)):
        other = by_polygraphy(files, pair)
        results.add(other)
        own = by_isomorph(files, pair)
        ratio = "of Polygraphy's"
        goals = [
            Goal(work=pair.title, figure=f"CPU, {ratio}", at_most=at_most,
                 value=own.cpu_seconds / other.cpu_seconds),
            Goal(work=pair.title, figure=f"time, {ratio}", at_most=at_most,
                 value=own.seconds / other.seconds),
        ]  # fmt: skip
        if pair is clean:
            beyond = (own.cpu_seconds - startup) / subject.plain_cpu_seconds
            goals += [
                Goal(work=pair.title, figure="plain inferences beyond start-up", at_most=60.0,
                     value=beyond),
                Goal(work=pair.title, figure="peak memory, GB", at_most=0.45,
                     value=own.peak_bytes / 1e9),
            ]  # fmt: skip
        results.add(own, *goals)
    results.goals.append(_oracle_pass(files))


def _oracle_pass(files: Files) -> Goal:
    """One float64 pass over the candidate, in turn with plain inferences."""
    from measuring.rows import Effort, passes
    from networks.kinds import Kind

    plain = Kind(step="plain", title="plain ONNX Runtime inference")
    row = passes(files, Kind(step="onnx_oracle", title="ONNX oracle"), plain, Effort(passes=5))
    value = float("nan") if row.ratio is None else row.ratio
    return Goal(work=files.name, figure="a float64 pass, of plain", value=value, at_most=4.0)


def one_command(
    results: Results, network: Network, title: str, cpu_seconds: float, folder: Path,
    plant: Callable[[Path, Path], str] | None = None,
) -> None:  # fmt: skip
    """One pair by isomorph alone, with a goal of CPU seconds."""
    files = Subject(network).files
    candidate, node = files.candidate, None
    if plant is not None:
        candidate = folder / f"{files.name}_altered.onnx"
        node = plant(files.candidate, candidate)
    own = by_isomorph(files, Pair(title=title, candidate=candidate, faulty_node=node))
    figure = Goal(work=title, figure="CPU seconds", value=own.cpu_seconds, at_most=cpu_seconds)
    results.add(own, figure)


def samples(results: Results, network: Network, count: int, folder: Path) -> None:
    """What each sample of a test set takes beyond the first."""
    import numpy as np

    subject = Subject(network)
    files = subject.files
    with np.load(files.inputs) as given:
        ((name, first),) = given.items()
    drawn = np.random.default_rng(0).normal(size=(count, *first.shape[1:])).astype(np.float32)
    taken = []
    for number in (1, count):
        data = folder / f"{number}_samples.npz"
        np.savez(data, **{name: drawn[:number]})
        pair = Pair(title=f"{files.name}, --data of {number}", candidate=files.candidate,
                    faulty_node=None)  # fmt: skip
        own = by_isomorph(replace(files, inputs=data), pair, option="--data")
        taken.append(own.cpu_seconds)
        results.add(own)
    each = (taken[1] - taken[0]) / (count - 1) / subject.plain_cpu_seconds
    results.goals.append(
        Goal(work=pair.title, figure="plain inferences for each sample", value=each, at_most=10.0)
    )


def measure(*, brief: bool) -> Results:
    """Every row and every goal."""
    from networks.altered import with_wrong_weight
    from networks.few_blocks import FEW_BLOCKS
    from networks.goal_networks import BERT, ONE_LAYER, SMALL, UNET
    from networks.torch_networks import NETWORKS

    results = Results(rows=[], goals=[])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = Subject(ONE_LAYER).files
        start = by_isomorph(
            files, Pair(title="one layer: start-up", candidate=files.candidate, faulty_node=None)
        )
        results.add(start)
        image_network(results, FEW_BLOCKS if brief else NETWORKS[0], start.cpu_seconds, folder)
        samples(results, SMALL, SAMPLES_BRIEF if brief else SAMPLES, folder)
        if not brief:
            one_command(results, BERT, "bert, clean", 8.0, folder)
            title = "unet at 256×256, one wrong weight"
            one_command(results, UNET, title, 30.0, folder, with_wrong_weight)
    return results


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--brief", action="store_true",
        help="a small network in the place of ResNet-50, and neither BERT nor the U-Net",
    )  # fmt: skip
    given = parser.parse_args(words)
    results = measure(brief=given.brief)
    print(table(TITLES, [shown(row) for row in results.rows]))
    print()
    judged = [_judged(goal, brief=given.brief) for goal in results.goals]
    print(table(("work", "figure", "measured", "goal", "met"), judged))
    write_json("goals_brief" if given.brief else "goals", {
        "rows": [asdict(row) for row in results.rows],
        "goals": [{**asdict(goal), "met": goal.met} for goal in results.goals],
    })  # fmt: skip


def _judged(goal: Goal, *, brief: bool) -> tuple[str, ...]:
    """The cells of a goal; the goals are those of the large networks."""
    met = "" if brief else "yes" if goal.met else "no"
    return goal.work, goal.figure, f"{goal.value:.2f}", f"≤ {goal.at_most:g}", met


if __name__ == "__main__":
    main()
