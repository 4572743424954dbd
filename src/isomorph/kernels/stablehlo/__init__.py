"""Float64 kernels of StableHLO's operations."""
