"""Extensions that know one reason for a divergence each, and how to confirm it."""
