"""Boxes of published labels: which lie in which, and natural supersets for (n, t)-closeness."""
