"""Microaggregation with t-closeness (Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015; Weber,
2.3.3).
"""
