"""Over one framework's own API, shared by that framework's adapters."""
