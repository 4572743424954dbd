"""Names of files that a project keeps."""

from __future__ import annotations

BASELINE = "isomorph.baseline.toml"
