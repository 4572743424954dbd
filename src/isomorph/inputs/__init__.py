"""What models are fed with: given, generated, or read from a data set."""
