"""Operators in many forms, as the frameworks' own registries and test suites offer them."""
