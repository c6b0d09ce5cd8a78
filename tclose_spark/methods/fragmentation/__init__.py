"""Fragmentation: t-closeness of several sensitive attributes by dividing their multiplicity matrix
(Gowda 2023, ch. 4; Weber, ch. 3).
"""
