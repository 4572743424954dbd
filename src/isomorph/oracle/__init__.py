"""What the float64 oracles of all frameworks share: values, noise, rounding."""
