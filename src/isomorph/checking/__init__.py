"""The check of two models: load, feed, evaluate, compare, report."""
