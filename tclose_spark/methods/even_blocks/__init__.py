"""Blocks with the whole table's distribution, and merging of classes: shared by methods whose time
grows with the square of the rows.
"""
