"""Extensions that read, describe, edit and write models; one folder each, with all of it."""
