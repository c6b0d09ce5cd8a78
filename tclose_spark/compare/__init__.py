"""Which method, and how much: combinations of methods, k and t on one table, each carried out and measured; in a
notebook `tclose_spark.compare(...)`.
"""

from tclose_spark.called import make_callable

make_callable(__name__)
