"""Distances of a class from the whole table: ground distances, exact EMD, histograms, transport."""
