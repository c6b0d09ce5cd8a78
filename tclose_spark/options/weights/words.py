"""The words of the people whom rows stand for: see `attributes.weight`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, OptionWords


class WeightsWords(OptionWords):
    """The column of weights, and the people whom the release stands for; of an unpublished one,
    that there is one.
    """

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        weight = made.spec.attributes.weight
        assert weight is not None
        sections["weights"] = {"published": weight.publish}
        if weight.publish:
            rounded = {} if weight.round_to is None else {"round_to": str(weight.round_to)}
            people = {
                key: made.figures["weights"][key]
                for key in ("total", "smallest_class", "mean_class")
            }
            sections["weights"] |= {"column": weight.column, **rounded, **people}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"weights": certificate.get("weights")}

    def sections(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"totals": figures.get("weights", {"totals": None})["totals"]}

    def parts(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, str]:
        return (
            {"extremes": "weights/weights.html.j2"}
            if figures.get("weights", {}).get("totals")
            else {}
        )

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        weights = certificate.get("weights", {"published": False})
        if weights["published"]:
            how = (
                f"rounded to multiples of {weights['round_to']}"
                if "round_to" in weights
                else "published unchanged"
            )
            form = "the number of people whom a row stands for"
            yield "weight", weights["column"], "", form, f"{how}; no guarantee covers it"
