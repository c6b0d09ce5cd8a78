"""The carve tree: a block divided top-down into classes that each hold, at one quasi-identifier
after another.
"""
