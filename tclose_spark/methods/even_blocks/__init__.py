"""What methods share that take time by the square of the rows: blocks that all have the whole table's distribution, and
merging of classes that do not hold.
"""
