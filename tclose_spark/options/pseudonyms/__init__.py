"""Pseudonyms: keyed hashes in place of direct identifiers."""
