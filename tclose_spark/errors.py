"""The exceptions a user can meet, each with the exit code it ends a command with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

MOST_LISTED = 1000
"""The most values that an error writes down for whoever corrects them."""


@dataclass(frozen=True)
class Offending:
    """Raw values that an error is about. They are written to a private file and stand in no
    message.

    rows: how many rows hold each value (None: missing), as text.
    """

    column: str
    problem: str
    rows: Mapping[str | None, int]

    def as_json(self) -> dict[str, object]:
        """As `internal/problems.json` has it: the MOST_LISTED values of most rows, in this
        order.
        """
        ranked = sorted(self.rows.items(), key=lambda item: (-item[1], item[0] or ""))
        return {
            "column": self.column,
            "problem": self.problem,
            "values": [{"value": value, "rows": rows} for value, rows in ranked[:MOST_LISTED]],
        }


class TcloseError(Exception):
    """An error with a message meant for the user: it names the column, the key and how many, and
    what to do.

    A message holds no raw value of a person, since it is kept in logs; `values` are those that it
    is about, for a file that only the owner of the run reads. What stands in the run file or in a
    hierarchy may be shown.

    problems: the errors that this one combines, one line each, if it combines several. `values` are
        then those of the first with values.
    """

    exit_code = 70

    def __init__(
        self,
        message: str,
        *,
        values: Offending | None = None,
        problems: Sequence[TcloseError] = (),
    ) -> None:
        super().__init__(message)
        self.values = values
        self.problems = tuple(problems)

    def reword(self, rewrite: Callable[[str], str]) -> None:
        """Rewrites the message, and that of each problem."""
        for error in (self, *self.problems):
            error.args = (rewrite(str(error)),)

    def as_json(self) -> dict[str, object]:
        """As `internal/problems.json` has it: the message and the values; of several errors, each
        one's too.
        """
        values = {} if self.values is None else self.values.as_json()
        several = (
            {"problems": [problem.as_json() for problem in self.problems]} if self.problems else {}
        )
        return {"error": str(self), **values, **several}


class GuaranteeError(TcloseError):
    """What was released, or was about to be, does not hold what is required. Nothing is
    published.
    """

    exit_code = 1


class ConfigurationError(TcloseError):
    """The run file, the command line or the installation is wrong."""

    exit_code = 2


class DamagedStagingError(ConfigurationError):
    """What an earlier stage left in the staging area is missing or damaged. A resumed run begins
    again.
    """


class SameInputError(ConfigurationError):
    """A release of a line would have the run file and the input of the one before. It would add
    nothing.
    """


class InputError(TcloseError):
    """The input table does not match its description in the run file."""

    exit_code = 2


class UnreachableError(TcloseError):
    """The table cannot reach a requirement; the message names what it can reach."""

    exit_code = 3


class Problems:
    """The errors of several checks, so that one run reports all of them.

    >>> problems = Problems()
    >>> for column in ("age", "sex"):
    ...     with problems.gathered():
    ...         raise InputError(f"{column!r} is missing")
    >>> problems.raise_found()
    Traceback (most recent call last):
    tclose_spark.errors.InputError: 'age' is missing
    'sex' is missing
    """

    def __init__(self) -> None:
        self._found: list[TcloseError] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keeps an error of the body for `raise_found`: of the run file, of the input, or of an
        unreachable goal.
        """
        try:
            yield
        except (ConfigurationError, InputError, UnreachableError) as error:
            self.add(error)

    def add(self, error: TcloseError) -> None:
        """Keeps an error for `raise_found`; of several in one, each."""
        self._found += error.problems or [error]

    def raise_found(self) -> None:
        """Raises what was found: a single error unchanged, several as one with a line for each.

        Raises:
            InputError: if one of several is an InputError; otherwise an error of the class of the
                first with code 2, or of the first.
        """
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            first = min(
                self._found,
                key=lambda error: (not isinstance(error, InputError), error.exit_code != 2),
            )
            values = next((error.values for error in self._found if error.values is not None), None)
            raise type(first)("\n".join(map(str, self._found)), values=values, problems=self._found)


def text_of(error: BaseException) -> str:
    """The text of an error, or the name of its class if the text was in a JVM that has ended."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__
