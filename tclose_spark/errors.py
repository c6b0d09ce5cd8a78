"""The exceptions a user can meet, each with the exit code it ends a command with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_LISTED = 1000
"""The most values that an error writes down for whoever corrects them."""


@dataclass(frozen=True)
class Offending:
    """Raw values that an error is about. They are written to a private file and stand in no message.

    rows: how many rows hold each value (None: missing), as text.
    """

    column: str
    problem: str
    rows: Mapping[str | None, int]

    def as_json(self) -> dict[str, Any]:
        """As `internal/problems.json` has it: the MOST_LISTED values of most rows, in this order."""
        ranked = sorted(self.rows.items(), key=lambda item: (-item[1], item[0] or ""))
        return {
            "column": self.column,
            "problem": self.problem,
            "values": [{"value": value, "rows": rows} for value, rows in ranked[:MOST_LISTED]],
        }


class TcloseError(Exception):
    """An error with a message meant for the user: it names the column, the key and how many, and what to do.

    A message holds no raw value of a person, since it is kept in logs; `values` are those that it is about, for a file
    that only the owner of the run reads. What stands in the run file or in a hierarchy may be shown.
    """

    exit_code = 70

    def __init__(self, message: str, *, values: Offending | None = None) -> None:
        super().__init__(message)
        self.values = values


class GuaranteeError(TcloseError):
    """What was released, or was about to be, does not hold what is required. Nothing is published."""

    exit_code = 1


class ConfigurationError(TcloseError):
    """The run file, the command line or the installation is wrong."""

    exit_code = 2


class InputError(TcloseError):
    """The input table does not match its description in the run file."""

    exit_code = 2


class UnreachableError(TcloseError):
    """The table cannot reach a requirement; the message names what it can reach."""

    exit_code = 3


def text_of(error: BaseException) -> str:
    """The text of an error, or the name of its class if the text was in a JVM that has ended."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__
