"""Distances, budgets and the verdict."""
