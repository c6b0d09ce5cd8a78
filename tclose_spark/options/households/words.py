"""The words of households: see `attributes.household`."""

from __future__ import annotations

from typing import Any

from tclose_spark.report.option_words import Certified, OptionWords


class HouseholdsWords(OptionWords):
    """The required and achieved households of a class, if they are required."""

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        if "households" in made.figures:
            sections["guarantees"]["k"]["over_households"] = made.figures["households"]
