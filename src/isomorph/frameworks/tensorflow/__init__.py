"""TensorFlow and Keras: the framework, its runtime and the oracle."""
