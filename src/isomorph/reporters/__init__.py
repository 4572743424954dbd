"""Extensions that render a report; one file each."""
