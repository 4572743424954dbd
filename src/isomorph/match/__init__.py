"""Which tensors of two graphs should be equal: by value, structure and provenance."""
