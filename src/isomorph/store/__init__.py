"""Traces on disk: a manifest and raw tensors, addressed by digest."""
