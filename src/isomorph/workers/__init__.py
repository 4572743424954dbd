"""Worker processes: start, messages, deadlines, restart after a crash."""
