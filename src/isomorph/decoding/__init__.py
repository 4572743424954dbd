"""Decoding token by token: a decoder's caches, its steps, and how two models compare on them."""
