"""The page on the loopback: one report, or a folder of them."""
