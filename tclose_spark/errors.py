"""The exceptions a user can meet, each with the exit code it ends a command with."""

from __future__ import annotations


class TcloseError(Exception):
    """An error with a message meant for the user: it names the column, key or value and what to do."""

    exit_code = 70


class GuaranteeError(TcloseError):
    """What was released, or was about to be, does not hold what was asked. Nothing is published."""

    exit_code = 1


class ConfigurationError(TcloseError):
    """The run file, the command line or the installation is wrong."""

    exit_code = 2


class InputError(TcloseError):
    """The input table is not what the run file says it is."""

    exit_code = 2


class UnreachableError(TcloseError):
    """What is asked cannot be reached on this table; the message says what can."""

    exit_code = 3
