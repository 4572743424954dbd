"""Damaged and hostile files for every reader of isomorph."""
