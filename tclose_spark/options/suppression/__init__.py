"""Rows that a release leaves out."""
