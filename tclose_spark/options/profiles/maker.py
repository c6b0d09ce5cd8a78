"""Warns of identifiers that a profile does not accept."""

from __future__ import annotations

from tclose_spark.io.run import Run
from tclose_spark.options.profiles.rules import named_identifiers
from tclose_spark.stages.input_reader import InputReader


class ProfilesReader(InputReader):
    """The run file alone decides."""

    def __init__(self, run: Run, may_continue: bool) -> None:
        super().__init__(run, may_continue)
        self.warnings = named_identifiers(self.spec)
