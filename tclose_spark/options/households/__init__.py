"""Households, of which a class may need several."""
