"""Which node is guilty, proven by substitution."""
