"""Float64 NumPy kernels with noise, shared by the oracles."""
