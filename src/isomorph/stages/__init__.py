"""The verbs that think; numpy only."""
