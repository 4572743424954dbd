"""Measure distances, derive budgets and decide verdicts."""
