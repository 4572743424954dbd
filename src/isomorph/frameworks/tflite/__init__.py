"""TFLite: the framework, LiteRT and the oracle."""
