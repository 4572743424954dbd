"""Extensions that run models; one file each."""
