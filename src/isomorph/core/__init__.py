"""The nouns. Imports no framework and, at import time, no numpy."""
