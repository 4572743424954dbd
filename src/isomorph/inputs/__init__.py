"""The inputs of models: given, generated, or read from a data set."""
