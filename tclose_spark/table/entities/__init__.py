"""Whom rows are about: columns whose values group the rows of a person or a household, found from
the data.
"""
