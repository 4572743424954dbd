"""Results of a sweep with one cell of each kind."""

from isomorph.core.sweep import CellResult, CellStatus, Sweep


def cell(model, environment, **words):
    words = {"status": CellStatus.DONE, "exit_code": 0, "key": "k", **words}
    return CellResult(name=f"{model}@{environment}", model=model, environment=environment,
                      shard="", seed=0, **words)  # fmt: skip


FOUND = Sweep(
    file="sweep.toml", store="s", seconds=3.0, version="1.0",
    cells=(
        cell("net", "cpu", verdict="equivalent", ratio=0.25, fresh=True, key="1", seconds=1.5,
             report="reports/1.json", headline="EQUIVALENT on 3 generated inputs"),
        cell("net", "gpu", verdict="divergent", ratio=31.0, node="conv", cause="weight", key="2",
             reason="the two graphs differ", exit_code=1, report="reports/2.json"),
        cell("odd|name", "cpu", exit_code=2, reason="error[X] no <such> file"),
        cell("late", "cpu", status=CellStatus.LEFT, exit_code=None),
    ),
)  # fmt: skip
