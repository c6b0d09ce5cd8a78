"""Writes `internal/households`: every row as it is published, and its household."""

from __future__ import annotations

from tclose_spark.io.output_folders import HOUSEHOLDS
from tclose_spark.options.people.maker import PeopleMaker
from tclose_spark.table.people import HOUSEHOLD


class HouseholdsMaker(PeopleMaker):
    """The table HOUSEHOLDS, with HOUSEHOLD."""

    table = HOUSEHOLDS
    owner = HOUSEHOLD
    sums = ("households_rows", "households_digest")
