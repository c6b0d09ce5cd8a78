"""A first run file for a table that nobody has described yet: facts of its columns, what they may be, and the file; in
a notebook `tclose_spark.suggest(...)`.
"""

from tclose_spark.called import make_callable

make_callable(__name__)
