"""Random pairs of graphs whose truth an independent judge finds, and what isomorph says of them."""
