"""ExecuTorch: programs (.pte), read, described, run and evaluated, XNNPACK delegates included."""
