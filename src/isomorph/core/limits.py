"""Limits of what is looked at, each with what happens when it is hit.

No limit here makes a verdict better than it is: what a limit leaves out is told, or the verdict
is lowered by it.
"""

from __future__ import annotations

MOST_REASONS = 8
"""Distinct reasons that a report keeps for one output that was not compared. Beyond: the counts
still hold, and the reasons of further inputs are left out."""

MOST_LAYOUTS = 24
"""Arrangements of the candidate's inputs that are tried, where several fit. Beyond: the report
says how many were not tried; a wrong choice shows as a divergence, never as its absence."""

MOST_EXAMINED = 3
"""Samples of a test set that are examined node by node. Beyond: every sample is still judged;
once the models are divergent, those after it are only run, and the report counts them as not
compared."""

MOST_SUSPECT_CONSTANTS = 8
"""Constants that differ from the reference's in a few elements and are examined by runs. Beyond:
the first ones count only where an input shows the difference, and the report says how many were
not examined."""
