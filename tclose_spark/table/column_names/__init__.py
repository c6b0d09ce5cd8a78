"""Names of columns: what they suggest, and how messages show them."""
