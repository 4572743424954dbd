"""``isomorph.sweep``: every cell of a matrix of models and environments, each checked once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.sweep import EngineName

if TYPE_CHECKING:
    from isomorph.core.sweep import Sweep
    from isomorph.sweeping.sweep import Engine, Progressing


def sweep(
    file: str | Path,
    *,
    store: str | Path | None = None,
    jobs: int | None = None,
    memory: int | None = None,
    shard: tuple[int, int] = (1, 1),
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    engine: str = EngineName.LOCAL,
    address: str | None = None,
    on_cell: Callable[[Progressing], None] | None = None,
) -> Sweep:
    """Run the cells of a sweep file that are not done, and return the results of all.

    ``jobs`` is how many run at a time (a cell uses two cores), ``memory`` what they may need
    together. ``shard`` is the number of a part of the cells and how many parts there are. ``only``
    are patterns of cell names. ``again`` are verdicts (or ``error``) that are asked for once more.
    With the engine ``ray``, cells are tasks of the cluster at ``address`` (``auto``, HOST:PORT), or
    of one that is started on this machine.
    """
    from isomorph.store.sweep_store import SweepStore
    from isomorph.sweeping.cell_selection import chosen_cells, planned
    from isomorph.sweeping.sweep import Sweeping

    plan = planned(file)
    cells = chosen_cells(plan, shard, only)
    with (
        SweepStore(Path(store if store is not None else plan.store)) as opened,
        _engine(engine, address, jobs, memory) as running_cells,
    ):
        running = Sweeping(
            plan=plan, store=opened, engine=running_cells,
            again=lambda each: each.outcome in again, on_cell=on_cell or (lambda _: None),
        )  # fmt: skip
        return running.sweep(cells, whole=len(cells) == len(plan.cells))


@contextmanager
def _engine(
    name: str, address: str | None, jobs: int | None, memory: int | None
) -> Iterator[Engine]:
    """The engine of this name; a cluster is left, or ended where it was started here."""
    if name not in tuple(EngineName):
        raise error_of(UsageError, "BAD_OPTION.engine", name=name, known=", ".join(EngineName))
    if name == EngineName.LOCAL:
        from isomorph.sweeping.local_engine import LocalEngine

        if address is not None:
            raise error_of(UsageError, "BAD_OPTION.address")
        yield LocalEngine(jobs=jobs or default_jobs(), memory_bytes=memory or _memory())
        return
    from isomorph.sweeping.cell_keys import versions
    from isomorph.sweeping.ray_cluster import RayCluster
    from isomorph.sweeping.ray_engine import RayEngine

    cluster = RayCluster(address, memory)
    try:
        yield RayEngine(cluster=cluster, versions=versions(), jobs=jobs)
    finally:
        cluster.close()


def default_jobs() -> int:
    """As many cells at a time as pairs of cores: both sides of a check run at a time."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (count or 1) // 2)


def _memory() -> int:
    """What is free now, less a tenth for everything else."""
    import psutil

    from isomorph.core.system_memory import total_memory

    return int(0.9 * min(psutil.virtual_memory().available, total_memory()))
