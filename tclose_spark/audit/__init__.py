"""Is a table that others made safe already? Every measure, exact, on any table: `audit_table`, `explain_class`; in a
notebook `tclose_spark.audit(...)`.
"""

from tclose_spark.called import make_callable

make_callable(__name__)
