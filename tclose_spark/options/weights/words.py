"""The words of the people whom rows stand for: see `attributes.weight`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclose_spark.report.certificate.sections import Certificate, Weights
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain


@dataclass(frozen=True, kw_only=True)
class WeightsFigures(OptionFigures):
    """The people whom a release stands for: all, those of the smallest class, and of one class in
    the mean.

    totals: of the values of each sensitive attribute (see `listed_totals`).
    """

    key = "weights"
    total: float
    smallest_class: float
    mean_class: float
    totals: Mapping[str, Sequence[Plain]]


class WeightsWords(OptionWords):
    """The column of weights, and the people whom the release stands for; of an unpublished one,
    that there is one.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        weight = made.spec.attributes.weight
        assert weight is not None
        certificate.weights = Weights(published=weight.publish)
        if weight.publish:
            people = made.figures.of(WeightsFigures)
            certificate.weights = Weights(
                published=True,
                column=weight.column,
                round_to=None if weight.round_to is None else str(weight.round_to),
                total=people.total,
                smallest_class=people.smallest_class,
                mean_class=people.mean_class,
            )

    def sections(self, certificate: Certificate, figures: Figures) -> Mapping[str, Any]:
        return {"totals": totals_of(figures)}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"extremes": "weights/weights.html.j2"} if totals_of(figures) else {}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        weights = certificate.weights
        if weights is not None and weights.column is not None:
            rounded = weights.round_to is not None
            how = (
                f"rounded to multiples of {weights.round_to}" if rounded else "published unchanged"
            )
            form = "the number of people whom a row stands for"
            yield "weight", weights.column, "", form, f"{how}; no guarantee covers it"


def totals_of(figures: Figures) -> Mapping[str, Sequence[Plain]] | None:
    """The weights of the values of each sensitive attribute, if weights are published."""
    weights = figures.find(WeightsFigures)
    return None if weights is None else weights.totals
