"""Float64 kernels of TFLite's operators."""
