"""What is typed on a command line, as arguments of the verbs. Imports only what `tclose --help` needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tclose_spark.auditing.options import AuditOptions, ExplainOptions

__all__ = ["AuditOptions", "ExplainOptions", "reader_options", "table_arguments"]


def table_arguments(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `audit` and `explain` for what is typed, by the same names.

    Raises:
        ConfigurationError: naming the option that is wrong.
    """
    from tclose_spark.auditing.question import parse_quasi_identifiers, parse_sensitive

    given = {**typed, "options": reader_options(typed["options"])}
    quasi, sensitive, trees = (typed[name] or [] for name in ("quasi_identifiers", "sensitive", "hierarchies"))
    if typed["spec"] is not None:  # which excludes the others
        return {**given, "hierarchies": dict.fromkeys(trees, "")}
    roles = {"quasi_identifiers": parse_quasi_identifiers(quasi, trees, Path.cwd()), "hierarchies": None}
    return {**given, **roles, "sensitive": parse_sensitive(sensitive, Path.cwd())}


def reader_options(texts: list[str] | None) -> dict[str, str]:
    """The options of a reader, typed as KEY=VALUE.

    Raises:
        ConfigurationError: if one is not.
    """
    from tclose_spark.io.input.table_argument import options_of

    return options_of(texts or ())
