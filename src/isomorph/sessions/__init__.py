"""Opened models and their sessions, in this process or behind a worker."""
