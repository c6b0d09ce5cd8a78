"""The words of households: see `attributes.household`."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.report.certificate.guarantees import KOverHouseholds
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import OptionFigures


@dataclass(frozen=True)
class HouseholdsFigures(OptionFigures):
    """required: None if they are only measured. achieved: the households of the class with the
    fewest.
    """

    key = "households"
    required: int | None
    achieved: int


class HouseholdsWords(OptionWords):
    """The required and achieved households of a class, if they are required."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        found = made.figures.of(HouseholdsFigures)
        certificate.guarantees.k.over_households = KOverHouseholds(
            required=found.required,
            achieved=found.achieved,
        )
