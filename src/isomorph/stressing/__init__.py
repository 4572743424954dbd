"""The input on which two models differ most, relative to what rounding explains there."""
