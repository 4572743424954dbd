"""Limits of bisections; see ``core.limits``."""

POINTS_AT_AN_END = 8
"""Releases that are tried from each end until one has a verdict. Beyond: the search is undecided,
and names what it tried."""

INSTALL_SECONDS = 1800.0
"""The most time for one call of pip. Beyond: the release counts as one that does not install."""
