"""Disjoint regions: a table is cut into boxes of its quasi-identifiers, and each box is a class.

A class publishes the box of its own values (see `table.labels`), and no two of these meet, so each
record is in the region of exactly one class. This is strict multidimensional recoding (LeFevre et
al. 2006) with t-closeness as a condition of every part (Li et al. 2010; Weber, 2.3.2).
"""
