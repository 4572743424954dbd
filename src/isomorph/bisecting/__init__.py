"""Which release, optimizer or opset changed a verdict."""
