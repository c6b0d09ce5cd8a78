"""Rows beside their published values, for the internal report and for `output.keep_linked`."""
