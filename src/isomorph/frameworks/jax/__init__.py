"""JAX: exported functions, live functions, their runtime and their oracle."""
