"""What publication costs: information loss of labels, query error, coarseness, the choice of k."""
