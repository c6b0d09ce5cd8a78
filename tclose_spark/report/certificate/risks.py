"""The risks of re-identification of a certificate."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tclose_spark.report.certificate.part import (
    AtLeastOne,
    CertificatePart,
    Count,
    NotNegative,
    Share,
)


class RequiredRisks(CertificatePart):
    """The limits that were required, by figure."""

    maximum: Share | None = None
    """The limit of maximum."""
    mean: Share | None = None
    """The limit of mean."""
    share: Share | None = None
    """The limit of share."""


class AdversaryRisk(CertificatePart):
    """What one adversary achieves."""

    maximum: Share
    """The largest chance of a record."""
    maximum_exact: str
    """The same, as p/q."""
    mean: Share
    """The mean chance over all records."""
    share: Share
    """The share of records with a chance above the threshold."""
    estimate: bool
    """Whether it depends on an estimate of the population."""
    required: RequiredRisks


class MeasuredRisk(CertificatePart):
    """The figures of a risk that is measured in floating point."""

    maximum: Share
    """The largest chance of a record."""
    mean: Share
    """The mean chance over all records."""
    share: Share
    """The share of records with a chance above the threshold."""
    estimate: bool
    """Whether it depends on an estimate of the population."""


class IndividualRiskEntry(MeasuredRisk):
    """The individual risk, a posterior mean."""

    expected: NotNegative
    """The records that are expected to be re-identified."""
    stated: Share | None = None
    """A stated share of expected re-identifications."""
    threshold: Share | None = None
    """The individual risk that no record may exceed so that at most the stated share is
    expected.
    """
    required: RequiredRisks


class HouseholdRiskEntry(MeasuredRisk):
    """The chance that some member of the household is recognized, as that of each member."""

    households: AtLeastOne
    """Households of the release."""
    unique: Share
    """The share of households in which someone is alone in a class."""
    required: RequiredRisks


class PopulationEntry(CertificatePart):
    """The population, in one of three ways."""

    fraction: str | None = None
    """The sampling fraction."""
    weight: str | None = None
    """The released column with the number of people whom a row stands for."""
    table: Literal[True] | None = None
    """The people were counted in a table that is not published."""
    people: Annotated[float, Field(ge=0)]
    """People of the population."""
    people_estimated: bool
    """Whether how many people fit a class is an estimate."""
    unmatched_classes: Count
    """Classes with more records than people of the population who fit them."""


class CertifiedRisks(CertificatePart):
    """The risk of re-identification, if the run file names the population or limits of it."""

    threshold: Share
    """The chance above which a record counts in share."""
    population: PopulationEntry | None = None
    prosecutor: AdversaryRisk
    journalist: AdversaryRisk | None = None
    marketer: AdversaryRisk | None = None
    individual: IndividualRiskEntry | None = None
    household: HouseholdRiskEntry | None = None
