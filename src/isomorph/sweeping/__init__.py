"""Many checks as one matrix: which are done already, where the others run, what came out."""
