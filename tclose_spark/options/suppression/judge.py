"""The words of suppressed rows: see `privacy.suppression_limit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tclose_spark.report.certificate.building import guarantees_of
from tclose_spark.report.certificate.sections import Certificate, Suppressed
from tclose_spark.report.html import guarantee_rows
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import Figures
from tclose_spark.requirements.words import GuaranteeRow, distances_text


class SuppressionWords(OptionWords):
    """The suppressed rows, and the table that classes were compared with."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        """If classes were compared with the input, it reveals the distribution of the suppressed
        rows, and the section has their figures as a class.
        """
        privacy = made.spec.privacy
        figures = made.figures.suppressed
        suppressed = Suppressed(
            rows=figures.rows,
            share=figures.rows / made.rows,
            limit=float(privacy.suppression_limit),
            limit_exact=str(privacy.suppression_limit),
            of=privacy.of,
        )
        if figures.attributes is not None:
            suppressed.guarantees = guarantees_of(made.spec, figures.rows, figures.attributes)
            suppressed.certain = [
                name for name, found in figures.attributes.items() if found.homogeneous.classes
            ]
        certificate.suppressed = suppressed

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        suppressed = certificate.suppressed
        of_class = None if suppressed is None else suppressed.guarantees
        rows = [] if of_class is None else guarantee_rows(of_class, whole)
        return {"of_suppressed": [replace(row, meaning="") for row in rows]}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        suppressed = certificate.suppressed
        some = suppressed is not None and suppressed.rows > 0
        return {"signature": "suppression/suppressed.html.j2"} if some else {}

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        """The suppressed rows, and their distances as a class if their distribution is public."""
        if (suppressed := certificate.suppressed) is None:
            return {}
        rows = f"{suppressed.rows:,} of {certificate.input.rows:,}, limit {suppressed.limit:g}"
        distances = {} if suppressed.guarantees is None else suppressed.guarantees.t
        of_class = [
            (f"t of {name}, suppressed", distances_text(t.to_json()))
            for name, t in distances.items()
        ]
        return {"left out": [("suppressed rows", rows), *of_class]}
