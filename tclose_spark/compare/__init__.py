"""Which method, and how much: combinations of methods, k and t on one table, each carried out and measured."""
