"""Limits of sweeps; see ``core.limits``."""

SWEEP_CELLS = 1_000_000
"""Cells of one sweep file. Beyond: the file is refused, because its plan alone fills the memory."""

SWEEP_ATTEMPTS = 3
"""How often a cell is run whose process is ended from outside. Beyond: it is reported as lost."""
