"""The two engines of the pipeline: Spark, and this process. `tables.py` has the operations that all
code uses.
"""
