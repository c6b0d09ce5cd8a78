"""Other forms than one table of labels: anatomy, permutation, and sensitive values in several
tables.
"""
