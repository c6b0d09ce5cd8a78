"""A first run file for a table that nobody has described."""
