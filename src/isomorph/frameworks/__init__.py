"""Extensions that read, describe, edit and write models; one file each."""
