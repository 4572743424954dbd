"""Existing converters, each in a file of its own: planned, isolated and proven by the stages."""
