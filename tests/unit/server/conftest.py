"""A report with every field filled, to be served."""

from report_fixtures import (  # noqa: F401
    divergence,
    over_samples,
    part,
    profile,
    quantized,
    report,
)
