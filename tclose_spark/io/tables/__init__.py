"""Tables that a run writes: columns, Delta tables, a catalog's table, exports."""
