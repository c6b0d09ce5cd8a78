"""A trial of a suggested run file, in memory."""
