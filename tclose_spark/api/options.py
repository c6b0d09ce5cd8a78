"""The declared options of verbs, which the command line has, too. Imports only what `tclose --help` needs."""

from tclose_spark.auditing.options import AuditOptions, ExplainOptions

__all__ = ["AuditOptions", "ExplainOptions"]
