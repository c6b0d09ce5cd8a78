"""(n, t)-closeness."""
