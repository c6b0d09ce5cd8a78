"""Comparisons: methods, k and t side by side on one table, each carried out and measured; the
choice of k.
"""
