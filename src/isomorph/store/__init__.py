"""Traces on disk: a manifest and raw tensors, addressed by digest."""

from isomorph.store.traces import is_trace, read, save

__all__ = ["is_trace", "read", "save"]
