"""A second implementation of what a release promises: plain Python and fractions, from the public
files and the raw input. It shares no code with the package.
"""
