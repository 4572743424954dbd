"""Limits of sweeps; see ``core.limits``."""

SWEEP_CELLS = 1_000_000
"""Cells of one sweep file. Beyond: the file is refused, because its plan alone fills the memory."""

SWEEP_ATTEMPTS = 3
"""How often a cell is run whose process is ended from outside. Beyond: it is reported as lost."""

SWEEP_PAGES = 200
"""Reports that the page of a sweep has as pages beside it, those that are not fine first. Beyond:
the page names the report in the store, which ``isomorph view`` shows."""
