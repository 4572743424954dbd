"""Bounds of every tensor of a graph, for all inputs within given ranges.

Each node is evaluated by the kernel of its own oracle at the ends of the intervals that it reads;
a table of operators decides at which ends, and how far rounding moves the result.
"""
