"""The smallest pair of models that still shows a fault, cut out to be attached to a report."""
