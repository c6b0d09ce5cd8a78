"""The three questions of the Article 29 Working Party (opinion 05/2014 on anonymisation techniques,
WP216), answered by the figures of a certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.runfile.privacy import RISKS
from tclose_spark.table.writing import number

NAMES = {
    "Singling out": "Can a person's rows be isolated?",
    "Linkability": "Can rows of one person be linked, in this table or with another?",
    "Inference": "Can a person's value be deduced with significant probability?",
}
OTHER_COLUMNS = "rows that are alone by columns other than quasi-identifiers"
OTHER_TABLES = "other tables about the same people"
OTHER_MEMBERS = "what somebody infers who knows the values of other members of a class"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its answers: the figures that are measured, and what is not measured."""

    name: str
    asked: str
    measured: tuple[str, ...]
    unmeasured: tuple[str, ...]


def questions(*answers: tuple[Iterator[str], Iterator[str]]) -> list[Question]:
    """The three questions with (what is measured, what is not) of each, in the order of NAMES."""
    return [
        Question(name=name, asked=asked, measured=tuple(measured), unmeasured=tuple(unmeasured))
        for (name, asked), (measured, unmeasured) in zip(NAMES.items(), answers, strict=True)
    ]


def three_questions(certificate: Certificate) -> list[Question]:
    """The questions about a release."""
    return questions(
        (_singling_out(certificate), iter([OTHER_COLUMNS])),
        (_linkability(certificate), _unlinked(certificate)),
        (_inference(certificate), iter([OTHER_MEMBERS])),
    )


def _singling_out(certificate: Certificate) -> Iterator[str]:
    k = certificate.guarantees.k
    if certificate.release.group is not None:
        yield (
            "yes, by quasi-identifiers: they are published as they are; sensitive values are "
            "known by class only"
        )
    yield f"the smallest class has {number(k.achieved)} rows (k: {number(k.required)})"
    if certificate.people is not None:
        yield f"no class has fewer than {number(certificate.people.smallest_class)} people"
    if certificate.allow_unique:
        yield f"yes, by nearly unique columns: {', '.join(certificate.allow_unique)}"


def _linkability(certificate: Certificate) -> Iterator[str]:
    release = certificate.release
    if release.group is None:
        chance = 1 / certificate.guarantees.k.achieved
        mean = release.classes / release.rows
        if (people := certificate.people) is not None:
            chance = people.largest_share
            mean = release.classes / people.in_classes
        yield (
            f"the chance to pick a person's row in its class is {number(chance)} at most, "
            f"{number(mean)} on average"
        )
    for kind, name in RISKS.items():
        if (risk := getattr(certificate.risks, kind, None)) is not None:
            yield f"{name}: {number(risk.maximum)} at most"
    if certificate.pseudonyms:
        yield f"yes, rows of a person by pseudonyms: {', '.join(certificate.pseudonyms)}"
    if certificate.earlier is not None:
        smallest = certificate.earlier.atoms.smallest
        yield f"people who stay together in the releases of the line: {number(smallest)} or more"


def _unlinked(certificate: Certificate) -> Iterator[str]:
    yield OTHER_TABLES
    if certificate.risks is None:
        yield "the population (privacy.population)"
    yield "how often a person is linked to a class by distance"


def _inference(certificate: Certificate) -> Iterator[str]:
    for name, entry in certificate.attributes.sensitive.items():
        t = certificate.guarantees.t[name]
        certain = number(entry.homogeneous.rows)
        limit = "no limit" if t.required is None else f"t: {number(t.required, t.achieved)}"
        distance = number(t.achieved, t.required)
        if t.over_people is not None:
            distance += f", over people {number(t.over_people.achieved, t.required)}"
        yield (
            f"{name}: classes are at most {distance} from the table ({limit}); certain for "
            f"{certain} rows"
        )
