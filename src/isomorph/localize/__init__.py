"""Find the faulty nodes of a candidate, and prove each by substitution."""
