"""Seen without running: what a conversion will lose or break, one check a file."""
