"""Patches for what was found: proposed, tried in small, applied to a copy, proven."""
