"""The words of aggregates: see `method.representative`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, Lines, OptionWords

UNKNOWN_LOSS = (
    "aggregates of classes are published, which do not say how far the values of a class lie "
    "apart; what labels that cover them would lose follows from the raw table alone"
)


class AggregatesWords(OptionWords):
    """The kind of aggregate of each quasi-identifier."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        certificate.utility.ncp_unknown = UNKNOWN_LOSS
        for name, one in made.spec.aggregates.items():
            entry = certificate.attributes.quasi_identifiers[name]
            entry.aggregate = one.kind
            entry.digits = one.digits
            entry.numeric_output = None
            entry.generalization = None

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"aggregates": dict(_aggregates(certificate))}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        for name, entry in certificate.attributes.quasi_identifiers.items():
            if entry.aggregate is not None:
                form = f"the {entry.aggregate} of its class"
                yield "quasi-identifier", name, name, form, "replaced by an aggregate of its class"

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        if certificate.utility.ncp_unknown is None:
            return {}
        return {"loss": [("information loss (NCP)", "unknown: aggregates are published")]}


def _aggregates(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """(column, kind of aggregate) of the quasi-identifiers that are published as aggregates."""
    for name, entry in certificate.attributes.quasi_identifiers.items():
        if entry.aggregate is not None:
            digits = entry.digits
            rounded = "" if digits is None else f", {digits} digit{'' if digits == 1 else 's'}"
            yield name, f"{entry.aggregate}{rounded}"
