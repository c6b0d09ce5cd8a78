"""A plan carried out in one process: a sample, its classes and labels, and their figures."""
