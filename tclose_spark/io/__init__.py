"""Contact with the world: Spark's session, input formats, Delta tables, folders, the run and its
lock.
"""
