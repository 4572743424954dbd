"""What isomorph costs: each kind of pass and a whole check, beside a plain inference.

The networks: resnet50, lstm and transformer (PyTorch against its ONNX export), keras_cnn and
keras_lstm (Keras against TFLite), int8_cnn (Keras against fully quantized TFLite). With --only or
--brief the results go to files of their own, so that those of a whole run stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace

from measuring.rows import (
    Effort,
    Measured,
    localization,
    passes,
    plain_inference,
    polygraphy,
    whole_check,
)
from measuring.tables import table, write_json
from networks.all_networks import NAMES, TORCH, written
from networks.kinds import kinds_of, plain_of

ORACLE_TARGET = 8.0
FAULTY = "resnet50"
"""The network in which a fault is planted, to see what it costs to find it."""

BRIEF = Effort(passes=2, plain_per_pass=2)


def measure(name: str, effort: Effort) -> list[Measured]:
    """Every row of one network, printed as they come.

    In brief, those of the fault and of Polygraphy are left to the goals of speed.
    """
    files, plain = written(name), plain_of(name)
    rows = [plain_inference(files, plain, effort)]
    usual = rows[0].seconds or 0.0
    for kind in kinds_of(name):
        print(f"… {name}: {kind.title}", flush=True)
        rows.append(passes(files, kind, plain, effort))
    print(f"… {name}: whole commands", flush=True)
    rows.append(whole_check(files, usual))
    if name == FAULTY and effort != BRIEF:
        rows += localization(files, usual)
    if name in TORCH and effort != BRIEF:
        rows.append(polygraphy(files, usual))
    return _in_oracle_passes(rows)


def _in_oracle_passes(rows: list[Measured]) -> list[Measured]:
    """Every time beside that of one silent float64 pass over the candidate."""
    once = next((row.seconds for row in rows if row.what in {"ONNX oracle", "TFLite oracle"}), None)
    if once is None:
        return rows
    return [
        row if row.seconds is None else replace(row, oracle_passes=row.seconds / once)
        for row in rows
    ]


def main() -> None:
    given = _arguments()
    effort = BRIEF if given.brief else Effort()
    rows = [row for name in given.only for row in measure(name, effort)]
    print(
        table(
            ("network", "what", "time", "× plain", "fastest", "× oracle", "peak memory"),
            [_shown(row) for row in rows],
        )
    )
    for row in rows:
        if row.skipped:
            print(f"skipped: {row.network}, {row.what}: {row.skipped}")
    _tell_target(rows)
    whole = not given.brief and tuple(given.only) == NAMES
    name = "speed" if whole else "-".join(["speed", *given.only, *["brief"] * given.brief])
    write_json(name, {"oracle_target": ORACLE_TARGET, "rows": [asdict(row) for row in rows]})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, metavar="NAME", default=NAMES,
        help=f"measure these networks alone: {', '.join(NAMES)}",
    )  # fmt: skip
    parser.add_argument("--brief", action="store_true", help="few repetitions: rough figures, soon")
    return parser.parse_args()


def _tell_target(rows: Sequence[Measured]) -> None:
    oracles = [row for row in rows if (row.network, row.what) == ("resnet50", "ONNX oracle")]
    for oracle in oracles:
        if oracle.ratio is not None:
            met = "met" if oracle.ratio <= ORACLE_TARGET else "missed"
            print(f"an oracle pass of resnet50 is to cost at most {ORACLE_TARGET:g} plain: {met}")


def _shown(row: Measured) -> tuple[str, ...]:
    if row.seconds is None or row.ratio is None:
        return row.network, row.what, "skipped", "", "", "", ""
    memory = "" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:.0f} MB"
    if row.disk_bytes is not None:
        memory += f" + {row.disk_bytes / 1e6:.0f} MB on disk"
    time_ = f"{row.seconds * 1e3:.1f} ms" if row.seconds < 1 else f"{row.seconds:.2f} s"
    fastest = "" if row.ratio_of_fastest is None else f"{row.ratio_of_fastest:.1f}"
    passes_ = "" if row.oracle_passes is None else f"{row.oracle_passes:.1f}"
    return row.network, row.what, time_, f"{row.ratio:.1f}", fastest, passes_, memory


if __name__ == "__main__":
    main()
