"""A local web server that shows one report, or a folder of them."""
