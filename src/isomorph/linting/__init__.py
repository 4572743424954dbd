"""Before converting: every check on a model's description, and what the target can do."""
