"""Edge operators of ExecuTorch, and the nodes of XNNPACK graphs."""
