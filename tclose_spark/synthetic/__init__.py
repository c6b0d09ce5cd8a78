"""A synthetic census that is the same on any cluster."""
