"""Aggregates of classes in place of labels."""
