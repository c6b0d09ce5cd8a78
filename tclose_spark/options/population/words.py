"""The words of the risk of re-identification: see `privacy.population` and `privacy.risk`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain
from tclose_spark.requirements.words import BAR, MARK, GuaranteeRow
from tclose_spark.runfile.combinations import RISK_FIGURES
from tclose_spark.runfile.privacy import RISKS
from tclose_spark.table.writing import number


@dataclass(frozen=True)
class PopulationFigures(OptionFigures):
    """risks: by kind, with the population and who is unique in it (see
    `PopulationRisks.to_json`).
    """

    risks: Plain


class PopulationWords(OptionWords):
    """The risks by kind, with the limits that are required. Nobody is alone in a class: it has k
    people.
    """

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        required = [] if made.spec.privacy.risk is None else [*made.spec.privacy.risk.required()]
        risks = {
            key: entry
            for key, entry in made.figures.of(PopulationFigures).risks.items()
            if key != "uniques"
        }
        for adversary in RISKS:
            if adversary in risks:
                limits = {figure: float(limit) for of, figure, limit in required if of == adversary}
                risks[adversary] = {**risks[adversary], "required": limits}
        sections["risks"] = risks

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        return {"risks": [*_rows(certificate.get("risks", {}))]}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"at_risk": certificate.get("risks")}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"guarantees": "population/risks.html.j2"} if certificate.get("risks") else {}


def _rows(risks: Mapping[str, Any]) -> Iterator[GuaranteeRow]:
    """A row for each figure of each kind of risk."""
    for adversary in RISKS:
        entry = risks.get(adversary, {})
        for figure in RISK_FIGURES if entry else ():
            limit = entry["required"].get(figure)
            reached = entry[figure]
            yield GuaranteeRow(
                name=f"{adversary}, {figure}{' (estimate)' if entry['estimate'] else ''}",
                attribute="",
                meaning="",
                required="" if limit is None else f"at most {number(limit, reached)}",
                achieved=number(reached, limit),
                met=None if limit is None else reached <= limit,
                bar=None if not limit else min(BAR, MARK * reached / limit),
            )
