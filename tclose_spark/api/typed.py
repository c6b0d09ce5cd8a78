"""What is typed on a command line, as arguments of the verbs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tclose_spark.auditing.question import parse_quasi_identifiers, parse_sensitive
from tclose_spark.io.input.table_argument import options_of


def described_columns(
    quasi: Sequence[str] | None, sensitive: Sequence[str] | None, trees: Sequence[str] | None, spec: str | None
) -> dict[str, Any]:
    """The arguments of `audit` and `explain` that describe the columns.

    Raises:
        ConfigurationError: naming the option that is wrong.
    """
    if spec is not None:  # which excludes the others
        return {"quasi_identifiers": quasi, "sensitive": sensitive, "hierarchies": dict.fromkeys(trees or (), "")}
    folder = Path.cwd()
    return {
        "quasi_identifiers": parse_quasi_identifiers(quasi or [], trees or [], folder),
        "sensitive": parse_sensitive(sensitive or [], folder),
        "hierarchies": None,
    }


def reader_options(texts: Sequence[str] | None) -> dict[str, str]:
    """The options of a reader, typed as KEY=VALUE.

    Raises:
        ConfigurationError: if one is not.
    """
    return options_of(texts or ())
