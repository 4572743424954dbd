"""Reports with every field filled."""

from report_fixtures import (  # noqa: F401
    divergence,
    over_samples,
    part,
    profile,
    quantized,
    report,
)
