"""PyTorch: the framework, its runtime and the oracle."""
