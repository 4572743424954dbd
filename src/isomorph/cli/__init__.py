"""One file per command, each a thin call into the API."""
