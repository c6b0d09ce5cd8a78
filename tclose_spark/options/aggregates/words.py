"""The words of aggregates: see `method.representative`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, Lines, OptionWords

UNKNOWN_LOSS = (
    "aggregates of classes are published, which do not say how far the values of a class lie "
    "apart; what labels that cover them would lose follows from the raw table alone"
)


class AggregatesWords(OptionWords):
    """The kind of aggregate of each quasi-identifier."""

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        sections["utility"]["ncp_unknown"] = UNKNOWN_LOSS
        quasi = sections["attributes"]["quasi_identifiers"]
        for name, one in made.spec.aggregates.items():
            published = {
                "aggregate": one.kind,
                **({} if one.digits is None else {"digits": one.digits}),
            }
            entry: dict[str, Any] = {}
            for key, value in quasi[name].items():  # in place of the form of labels
                if key in ("hierarchy", "numeric_output", "generalization"):
                    entry |= published
                entry |= {key: value} if key not in ("numeric_output", "generalization") else {}
            quasi[name] = entry

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"aggregates": dict(_aggregates(certificate))}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        for name, entry in certificate["attributes"].get("quasi_identifiers", {}).items():
            if "aggregate" in entry:
                form = f"the {entry['aggregate']} of its class"
                yield "quasi-identifier", name, name, form, "replaced by an aggregate of its class"

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        unknown = "ncp_unknown" in certificate["utility"]
        return (
            {"loss": [("information loss (NCP)", "unknown: aggregates are published")]}
            if unknown
            else {}
        )


def _aggregates(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """(column, kind of aggregate) of the quasi-identifiers that are published as aggregates."""
    for name, entry in certificate["attributes"].get("quasi_identifiers", {}).items():
        if "aggregate" in entry:
            digits = entry.get("digits")
            yield (
                name,
                entry["aggregate"]
                + ("" if digits is None else f", {digits} digit{'' if digits == 1 else 's'}"),
            )
