"""A trained decoder, its conversions, and faults planted in its caches and its attention."""
