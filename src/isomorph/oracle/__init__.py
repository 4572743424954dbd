"""The float64 evaluator of all frameworks: plan, executor, values, weights, noise, streaming."""
