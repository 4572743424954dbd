"""Extensions that propose patches, one file for each cause that a patch can remove."""
