"""Warns of identifiers that a profile does not accept."""

from __future__ import annotations

from tclose_spark.options.profiles.rules import named_identifiers
from tclose_spark.stages.input_reader import InputReader


class ProfilesReader(InputReader):
    """The run file alone decides."""

    def warnings(self) -> list[str]:
        return named_identifiers(self.spec)
