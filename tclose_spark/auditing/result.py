"""The results of an audit and of an explained class, as data. `views` and `page` render them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Self

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.runfile.attributes import Recursive
from tclose_spark.table.writing import finite

if TYPE_CHECKING:
    from tclose_spark.auditing.attacks.background import BackgroundJoin
    from tclose_spark.auditing.attacks.exposures import Exposure
    from tclose_spark.checks.classes.figures import ClassFigures
    from tclose_spark.checks.classes.population import PopulationRisks
    from tclose_spark.measures.disclosure.rare_cells import RareCells
    from tclose_spark.measures.disclosure.reidentification import Linkage
    from tclose_spark.measures.disclosure.special_uniques import SpecialUniques
    from tclose_spark.measures.distances.transport import TransportPlan
    from tclose_spark.requirements.criterion import Guarantee, Labels
    from tclose_spark.requirements.expectation import Expectation
    from tclose_spark.requirements.judge import JudgedAttribute
    from tclose_spark.table.arrays import IntArray

MOST_WRITTEN = 40  # characters of a label in a note


class LabelNote(str):
    """A note that shows labels of the table. plain: the same without them."""

    plain: str

    @classmethod
    def showing(cls, text: str, labels: Iterable[str]) -> LabelNote:
        """A note with up to three labels in place of `{}`."""
        shown = ", ".join(repr(label[:MOST_WRITTEN]) for label in sorted(labels)[:3])
        note = cls(text.replace("{}", f": {shown}"))
        note.plain = text.replace("{}", "")
        return note


class Together(Protocol):
    """What several releases reveal together."""

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is required of people who are in several releases."""
        ...

    @property
    def counts(self) -> Mapping[str, object]:
        """Its other figures, as plain values for JSON."""
        ...

    def without_labels(self) -> Together:
        """The same figures without labels."""
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult:
    """The result of an audit.

    question: the audited columns and the requirements.
    figures: of the equivalence classes.
    guarantees: one entry per required or reported measure.
    attacks: what each attack exposes.
    background: the join with the background table, if one was given.
    notes: remarks on the table that affect how to read the figures.
    understated: the quasi-identifiers whose information loss is unknown, or larger than measured.
    expectations: what the Great Expectations suite requires of the class table.
    name: the table's name for display.
    people: how many people have each number of rows; empty if a row is taken for a person.
    special_uniques: None if they were not searched for, or there are too many classes.
    cells: of combinations of quasi-identifiers; None likewise.
    linkage: of raw rows with their classes; None without a raw table, or if it is not measured.
    risks: of re-identification, given the population; None if nothing was said of it.
    together: what the table and earlier releases reveal together: cells if people are known by a
        column, otherwise the attack with a list of people, or differences. None without earlier
        releases.
    """

    question: AuditQuestion
    figures: ClassFigures
    guarantees: tuple[Guarantee, ...]
    attacks: tuple[Exposure, ...] = ()
    background: BackgroundJoin | None = None
    notes: tuple[str, ...] = ()
    understated: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    name: str = "the table"
    people: Mapping[int, int] = field(default_factory=dict)
    special_uniques: SpecialUniques | None = None
    cells: RareCells | None = None
    linkage: Linkage | None = None
    risks: PopulationRisks | None = None
    together: Together | None = None

    @property
    def judged(self) -> tuple[Guarantee, ...]:
        """All guarantees: of classes, and of several releases together."""
        return (
            self.guarantees
            if self.together is None
            else (*self.guarantees, *self.together.guarantees)
        )

    @property
    def holds(self) -> bool:
        """Whether all requirements hold."""
        return all(g.holds for g in self.judged)

    @property
    def suite(self) -> str:
        """The Great Expectations suite that checks the class table, as JSON."""
        from tclose_spark.checks.validation import suite_json

        return suite_json("every class", self.expectations)

    @property
    def ncp(self) -> float | None:
        """Mean information loss over rows and quasi-identifiers. A lower bound if some are
        understated; unknown ones count as 0. None if all are unknown.
        """
        losses = self.figures.losses
        return sum(losses.values()) / len(self.question.quasi_identifiers) if losses else None

    @property
    def verdict(self) -> str:
        """Either "holds" or "violated"; "measured" if nothing is required."""
        if not any(g.required is not None for g in self.judged):
            return "measured"
        return "holds" if self.holds else "violated"

    def without_labels(self) -> Self:
        """The same audit without labels and sensitive values, which in a raw table are people's
        records.

        Figures, column names and the sizes of the worst classes remain.
        """
        return replace(
            self,
            guarantees=tuple(replace(g, worst={}) for g in self.guarantees),
            notes=tuple(note.plain if isinstance(note, LabelNote) else note for note in self.notes),
            attacks=tuple(e.without_labels() for e in self.attacks),
            together=None if self.together is None else self.together.without_labels(),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON. Exact fractions are texts p/q beside decimals."""
        figures = self.figures
        return {
            "verdict": self.verdict,
            "table": {"rows": figures.rows, "classes": figures.classes, **self._people_json()},
            "guarantees": [_guarantee_json(g, self.question) for g in self.guarantees],
            "attacks": [vars(e) for e in self.attacks],
            "background": None if self.background is None else self.background.to_json(),
            "special_uniques": None
            if self.special_uniques is None
            else asdict(self.special_uniques),
            "cells": None if self.cells is None else asdict(self.cells),
            "linkage": None if self.linkage is None else asdict(self.linkage),
            "risks": None if self.risks is None else self.risks.to_json(),
            "several_releases": None
            if self.together is None
            else _together_json(self.together, self.question),
            "utility": {
                "ncp": self.ncp,
                "ncp_is_lower_bound": self.ncp is not None and bool(self.understated),
                "ncp_by_quasi_identifier": {
                    q: figures.losses.get(q) for q in self.question.quasi_identifiers
                },
                "average_class_size": figures.rows / figures.classes,
                "smallest_class": figures.smallest,
                "largest_class": figures.largest,
                "discernibility": figures.discernibility,
            },
            "notes": list(self.notes),
        }

    def _people_json(self) -> dict[str, int]:
        if not self.people:
            return {}
        return {"people": sum(self.people.values()), "most_rows_of_a_person": max(self.people)}


@dataclass(frozen=True, kw_only=True, repr=False)
class ClassExplanation:
    """One equivalence class and one sensitive attribute.

    labels: of the class, by column.
    attribute: the attribute's values in order, and its distance.
    part, whole: records of the class and of the table with each value, shape (m,).
    plan: the cheapest transport plan from the class's distribution to the table's.
    """

    labels: Labels
    attribute: JudgedAttribute
    part: IntArray
    whole: IntArray
    plan: TransportPlan

    @property
    def emd(self) -> Fraction:
        """The earth mover's distance between class and table."""
        return self.plan.cost

    @property
    def holds(self) -> bool:
        """Whether the distance is at most t, or no t is required."""
        t = self.attribute.settings.t
        return t is None or self.emd <= t

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON. Exact fractions are texts p/q beside decimals."""
        values = self.attribute.values
        settings = self.attribute.settings
        return {
            "class": dict(self.labels),
            "attribute": self.attribute.name,
            "distance": settings.distance,
            "emd": float(self.emd),
            "emd_exact": str(self.emd),
            "asked": None if settings.t is None else float(settings.t),
            "records": int(self.part.sum()),
            "values": [
                {"value": value, "class": int(p), "table": int(q)}
                for value, p, q in zip(values, self.part, self.whole, strict=True)
            ],
            "moves": [
                {
                    "from": values[move.source],
                    "to": values[move.target],
                    "mass": str(move.mass),
                    "distance": str(move.distance),
                    "cost": str(move.cost),
                }
                for move in self.plan.moves
            ],
        }


def _guarantee_json(g: Guarantee, question: AuditQuestion) -> dict[str, object]:
    together = {one.name: one.as_attribute for one in question.joint}
    settings = {**question.sensitive_attributes, **together}.get(g.attribute or "")
    exact = isinstance(g.achieved, Fraction)
    bound = (
        f"c = {g.required.c}, l = {g.required.l}"
        if isinstance(g.required, Recursive)
        else g.required
    )
    return {
        "measure": g.measure,
        "attribute": g.attribute,
        "distance": settings.distance if settings and "closeness" in g.measure else None,
        "asked": float(bound) if isinstance(bound, Fraction) else bound,
        "asked_exact": str(bound) if isinstance(bound, Fraction) else None,
        "achieved": float(g.achieved) if exact else finite(g.achieved),
        "achieved_exact": str(g.achieved) if exact else None,
        "holds": g.holds if g.required is not None else None,
        "classes": g.classes,
        "rows": g.rows,
        "worst": dict(g.worst),
        "size": g.size,
    }


def _together_json(found: Together, question: AuditQuestion) -> dict[str, object]:
    listed = [_guarantee_json(g, question) for g in found.guarantees]
    renamed = {"classes": "groups", "rows": "people"}
    return {
        **found.counts,
        "guarantees": [
            {renamed.get(key, key): value for key, value in one.items()} for one in listed
        ],
    }
