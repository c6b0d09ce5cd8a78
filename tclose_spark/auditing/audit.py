"""The audit: a table that is there already, whoever made it, against k, l, t, (n, t) and the attacks, and what it is
worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pyspark.sql import DataFrame

from tclose_spark.auditing.attacks.background import BackgroundJoin, join_background
from tclose_spark.auditing.attacks.exposures import AttackColumns, Exposure, KnowingColumns, exposures
from tclose_spark.auditing.attacks.minimality_attack import guess_people
from tclose_spark.auditing.inputs import check_rows, check_table, judged_attributes, merged_missing, normal, trees_of
from tclose_spark.auditing.labels import judged_quasi
from tclose_spark.auditing.published_bounds import with_bounds
from tclose_spark.auditing.question import Question
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedAttribute, class_table
from tclose_spark.checks.classes.figures import ClassFigures, Guarantee, class_figures
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.classes.tuples import tuple_closeness
from tclose_spark.checks.expectations import Expectation, expect_some_rows, expectations_of
from tclose_spark.checks.supersets import (
    expect_supersets,
    find_supersets,
    near_supersets,
    without_t,
)
from tclose_spark.checks.validation import suite_json, validate
from tclose_spark.checks.warnings import padded_order
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError
from tclose_spark.io.spark.session import kept
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.storage.folders import private
from tclose_spark.io.tables.columns import write_delta
from tclose_spark.measures.supersets.box_search import MOST_BOXES
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.runfile.attributes import Recursive
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """What an audit says. Jupyter shows it as a page.

    question: what it was asked.
    figures: of the classes.
    guarantees: each thing that is required or reported.
    exposures: what attackers reach.
    background: what who knows people finds, where a background table is given.
    notes: what a reader should know besides.
    suite: the Great Expectations suite that checks the class table, as JSON.
    name: of the table, as a reader knows it.
    """

    question: Question
    figures: ClassFigures
    guarantees: tuple[Guarantee, ...]
    exposures: tuple[Exposure, ...]
    background: BackgroundJoin | None
    notes: tuple[str, ...]
    suite: str = ""
    name: str = "the table"

    @property
    def attacks(self) -> tuple[Exposure, ...]:
        """What attackers reach, a line for each attack: `exposures`."""
        return self.exposures

    @property
    def holds(self) -> bool:
        """Whether everything that is required holds."""
        return all(g.holds for g in self.guarantees)

    @property
    def verdict(self) -> str:
        """Either "holds" or "violated"; "measured" where nothing is required."""
        if not any(g.required is not None for g in self.guarantees):
            return "measured"
        return "holds" if self.holds else "violated"

    def without_labels(self) -> Audit:
        """The same without labels and sensitive values of the table, which in a raw table are people's records:
        figures, names of columns, and the size of each worst class.
        """
        return replace(
            self,
            guarantees=tuple(replace(g, worst={}) for g in self.guarantees),
            exposures=tuple(e.without_labels() for e in self.exposures),
        )

    def __repr__(self) -> str:
        from tclose_spark.auditing.views import audit_lines

        return printed(audit_lines(self, self.name))

    def _repr_html_(self) -> str:
        from tclose_spark.auditing.page import audit_page

        return in_frame(audit_page(self, self.name), "Audit")

    def to_json(self) -> dict[str, Any]:
        """As plain values; fractions as text p/q beside decimals."""
        figures = self.figures
        return {
            "verdict": self.verdict,
            "table": {"rows": figures.rows, "classes": figures.classes},
            "guarantees": [_guarantee_json(g, self.question) for g in self.guarantees],
            "attacks": [vars(e) for e in self.exposures],
            "background": None if self.background is None else _background_json(self.background),
            "utility": {
                "ncp": figures.ncp if figures.losses else None,
                "ncp_by_quasi_identifier": {q: figures.losses.get(q) for q in self.question.quasi_identifiers},
                "average_class_size": figures.rows / figures.classes,
                "smallest_class": figures.smallest,
                "largest_class": figures.largest,
                "discernibility": figures.discernibility,
            },
            "notes": list(self.notes),
        }


def audit_table(
    table: DataFrame,
    question: Question,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: DataFrame | None = None,
    background: DataFrame | None = None,
    classes_output: str | None = None,
    supersets: int = MOST_BOXES,
    attacks: bool = True,
) -> tuple[Audit, str]:
    """Audits a table: (the audit, the Great Expectations suite that checks its class table, as JSON).

    hierarchies: by column; by default they are read from where the question says. reference: the table whose
    distribution is the whole table's; the domain is the union of both. background: people that an attacker knows, by
    their raw quasi-identifiers. classes_output: where the class table is written, as Delta. attacks: whether they are
    looked at, and the tuples of several attributes.

    Raises:
        InputError: naming the column and what is wrong with it.
        GuaranteeError: if Great Expectations does not come to the same verdict.
    """
    table, reference, background = normal(question, table, reference, background)
    question, paired = with_bounds(table, question)
    rows = check_table(table, question)
    if question.n is not None and reference is not None:
        raise ConfigurationError(
            "--n and --reference: natural supersets are parts of the table, and the reference is another; ask one of "
            "both"
        )
    if background is not None and question.aggregates:
        raise ConfigurationError(
            "--background: people are found by labels that cover their values, and with method.representative "
            "aggregates are published, which do not; leave it out"
        )
    if classes_output is not None:
        _check_names(question)
    if background is not None:
        rows = max(rows, check_rows(background, "the background table"))
    trees = trees_of(question, table.sparkSession, hierarchies)
    with ExitStack() as held:
        held.enter_context(sized_shuffles(table.sparkSession, rows))
        tallies = held.enter_context(kept(tally_classes(table, question.labels, list(question.sensitive_attributes))))
        quasi, notes = judged_quasi(tallies, question, trees)
        counts, tuple_counts = count_values(tallies, list(question.sensitive_attributes))
        notes = [*paired, *merged_missing(table, question), *notes, *_spellings(question, counts)]
        attributes = judged_attributes(table, counts, question, trees, reference)
        notes += [note for a, own in zip(attributes, counts, strict=True) for note in padded_order(a, own)]
        columns = [AttackColumns(a, question.gain, trees.get(a.name)) for a in attributes if attacks]
        several = len(attributes) > 1 and attacks
        knowing = KnowingColumns(tuple(a.name for a in attributes)) if several else None
        tuples = tuple_closeness(tuple_counts, attributes) if several and reference is None else None
        more: list[ClassMeasure] = [*columns, *([knowing] if knowing else []), *([tuples] if tuples else [])]
        classes = held.enter_context(kept(class_table(tallies, quasi, attributes, more)))
        if question.n is not None:
            extended, tried = find_supersets(classes, tallies, quasi, attributes, question.n, supersets)
            classes = held.enter_context(kept(extended))
            notes += tried
        if classes_output is not None:
            with private(classes_output):
                write_delta(classes, classes_output)
        reported = [tuples.criterion([a.name for a in attributes])] if tuples else []
        figures = class_figures(classes, question.k, quasi, attributes, more=reported)
        guarantees = list(figures.guarantees)
        if question.n is not None:
            guarantees = [
                replace(g, required=None, classes=0, rows=0) if g.measure == "t-closeness" else g for g in guarantees
            ] + [near.guarantee for near in near_supersets(classes, attributes, question.n)]
        guarantees += figures.more
        if several and reference is not None:
            notes.append("the distance of the tuples of all sensitive attributes is not told beside a reference")
        elif several and tuples is None:
            notes.append("the tuples of all sensitive attributes are too many for their distance to be told")
        joined = None if background is None else join_background(classes, background, quasi, trees)
        if joined is not None and background is not None and attacks:
            guesses = guess_people(tallies, question.labels, background, quasi, trees, attributes, question.gain)
            joined = replace(joined, guesses=guesses)
            if len(guesses) < len(attributes):
                notes.append("the outsider's guesses are not told: too many classes, or labels that are sets of values")
        audit = Audit(
            question=question,
            figures=figures,
            guarantees=tuple(guarantees),
            exposures=tuple(exposures(classes, columns, knowing, figures.rows)),
            background=joined,
            notes=tuple(notes),
        )
        suite = suite_of(question, attributes)
        if validate(classes, "every class", suite, figures.classes).passed != audit.holds:
            raise GuaranteeError(
                "Great Expectations comes to another verdict on the class table; this is an error of ours, please "
                "report it"
            )
        told = suite_json("every class", suite)
        return replace(audit, suite=told), told


def _spellings(question: Question, counts: Sequence[Counts]) -> list[str]:
    """A note on each sensitive attribute that has a value in several spellings."""
    spellings = [
        (name, count_spellings(values)) for name, values in zip(question.sensitive_attributes, counts, strict=True)
    ]
    return [
        f"{name}: {many} of its values differ from another by case, blanks, width or Unicode form only; they count as "
        "values of their own, in l and in every distance"
        for name, many in spellings
        if many
    ]


def _check_names(question: Question) -> None:
    """Raises InputError if a Delta table cannot hold the class table."""
    for column in (*question.labels, *question.sensitive_attributes):
        if set(column) & set(" ,;{}()\n\t="):
            raise InputError(
                f"--classes-output: a Delta table cannot hold the column name {column!r}; rename it (no blanks or , ; "
                f"{{ }} ( ) =)"
            )


def suite_of(question: Question, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The expectations over the class table that say what is required."""
    if question.n is None:
        return [expect_some_rows(), *expectations_of(question.k, attributes)]
    reported = expectations_of(question.k, without_t(attributes))
    return [expect_some_rows(), *reported, *expect_supersets(attributes)]


def _guarantee_json(g: Guarantee, question: Question) -> dict[str, Any]:
    asked = question.sensitive_attributes.get(g.attribute or "")
    exact = isinstance(g.achieved, Fraction)
    bound = f"c = {g.required.c}, l = {g.required.l}" if isinstance(g.required, Recursive) else g.required
    return {
        "measure": g.measure,
        "attribute": g.attribute,
        "distance": asked.distance if asked and "closeness" in g.measure else None,
        "asked": float(bound) if isinstance(bound, Fraction) else bound,
        "asked_exact": str(bound) if isinstance(bound, Fraction) else None,
        "achieved": float(g.achieved) if exact else g.achieved,
        "achieved_exact": str(g.achieved) if exact else None,
        "holds": g.holds if g.required is not None else None,
        "classes": g.classes,
        "rows": g.rows,
        "worst": dict(g.worst),
        "size": g.size,
    }


def _background_json(joined: BackgroundJoin) -> dict[str, Any]:
    shares = {key: float(value) if isinstance(value, Fraction) else value for key, value in vars(joined.risks).items()}
    del shares["members"]  # of classes; BackgroundJoin.members counts people once
    return {
        **vars(joined),
        "joined": list(joined.joined),
        "risks": shares,
        "guesses": [vars(g) for g in joined.guesses],
    }
