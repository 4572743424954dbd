"""Clean pairs: models and faithful conversions of them, on which the only right answer is known."""
