"""Match the tensors and constants of two graphs by value, structure and provenance."""
