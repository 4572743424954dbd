"""A framework of four operators, written by following docs/internals/adding-a-framework.md."""
