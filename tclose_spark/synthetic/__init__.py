"""A synthetic census: the same people on any cluster."""
