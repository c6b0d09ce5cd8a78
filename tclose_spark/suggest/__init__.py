"""A first run file for a table that nobody has described yet: facts of its columns, what they may be, and the file."""
