"""Columns in Arrow: the names of their types, the values that are prepared from them, and their
Parquet files.
"""
