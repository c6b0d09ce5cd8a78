"""The staging area: rows that later stages read in place of the input, and what earlier stages left
for later ones.
"""
