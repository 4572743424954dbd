"""Writes the networks whose speed is measured, and prints their sizes.

Each stands there twice (.pt2 and .onnx, or .keras and .tflite) with one set of inputs, under
results/, until the file that builds it changes.
"""

from __future__ import annotations

import argparse

from measuring.tables import table, write_json
from networks.all_networks import NAMES, TORCH, written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", default=NAMES)
    parser.add_argument("--brief", action="store_true", help="the networks of PyTorch alone")
    given = parser.parse_args()
    rows = []
    for name in TORCH if given.brief else given.only:
        files = written(name)
        rows.append(
            {
                "network": files.name,
                "parameters": files.parameters,
                "reference_bytes": files.reference.stat().st_size,
                "candidate_bytes": files.candidate.stat().st_size,
            }
        )
    print(
        table(
            ("network", "parameters", "reference", "candidate"),
            [
                (
                    row["network"],
                    f"{row['parameters'] / 1e6:.1f} million",
                    f"{row['reference_bytes'] / 1e6:.1f} MB",
                    f"{row['candidate_bytes'] / 1e6:.1f} MB",
                )
                for row in rows
            ],
        )
    )
    write_json("models_brief" if given.brief else "models", {"networks": rows})


if __name__ == "__main__":
    main()
