"""Pairs of ExecuTorch: lowered for XNNPACK, with GELU as the exact form and as the tanh form.

    python benchmarks/peer_tools/make_executorch_pairs.py FOLDER

Nothing is planted: the partitioner of ExecuTorch 1.5.1 lowers the tanh form as the exact one.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

from peer_tools.network import built
from peer_tools.pairs import Pair

RECORD = "record.bin"


def main() -> None:
    folder = Path(sys.argv[1])
    for name, title, gelu in (
        ("executorch_clean", "PyTorch → ExecuTorch, XNNPACK", "none"),
        ("executorch_gelu", "… the tanh form of GELU, which becomes the exact one", "tanh"),
    ):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        network, image = built(gelu)
        program = torch.export.export(network, (image,))
        torch.export.save(program, place / "model.pt2")
        np.savez(place / "inputs.npz", image=image.numpy())
        lowered = to_edge_transform_and_lower(
            program, partitioner=[XnnpackPartitioner()], generate_etrecord=True
        ).to_executorch()
        (place / "model.pte").write_bytes(lowered.buffer)
        record = lowered.get_etrecord()
        record.update_representative_inputs([(image,)])
        record.save(str(place / RECORD))
        Pair(
            name=name, title=title, reference="model.pt2", candidate="model.pte",
            inputs="inputs.npz", faulty=("gelu",) if gelu == "tanh" else (),
        ).write(place)  # fmt: skip


if __name__ == "__main__":
    main()
