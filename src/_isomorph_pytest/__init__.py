"""The pytest plugin; it stands outside of isomorph, so that pytest never pays for it."""
