"""The audit: a table that is there already, whoever made it, against k, l, t, (n, t) and the attacks, and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.audit.attacks import AttackColumns, Exposure, KnowingColumns, TupleCloseness, exposures, tuple_keys
from tclose_spark.audit.background import BackgroundJoin, join_background
from tclose_spark.audit.labels import judged_quasi
from tclose_spark.audit.question import Question
from tclose_spark.audit.supersets import Ladder, count_heights, nearest_heights, with_supersets
from tclose_spark.checks.classes import ClassMeasure, JudgedAttribute, class_table, judged_attribute, measure_column
from tclose_spark.checks.expectations import Expectation, expect_present, expect_some_rows, expectations_of, suite_json, validate
from tclose_spark.checks.figures import ClassFigures, Guarantee, class_figures
from tclose_spark.checks.tallies import Histogram, count_values, tally_classes
from tclose_spark.domains import Counts
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.session import kept
from tclose_spark.spec import Recursive
from tclose_spark.tables import FRACTIONAL, MALFORMED, UNSUPPORTED, plain, quoted, read_hierarchies, write_delta

SUPERSETS = 64  # vectors of heights that are tried for (n, t)-closeness
MOST_KEYS = 1 << 62


@dataclass(frozen=True)
class Audit:
    """What was found. guarantees: each thing that was asked or is told; information: closeness of the tuples of all sensitive
    attributes; notes: what a reader should know besides.
    """

    question: Question
    figures: ClassFigures
    guarantees: tuple[Guarantee, ...]
    exposures: tuple[Exposure, ...]
    background: BackgroundJoin | None
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was asked holds."""
        return all(g.holds for g in self.guarantees)

    @property
    def verdict(self) -> str:
        """Either "holds" or "violated"; "measured" where nothing was asked."""
        if not any(g.asked is not None for g in self.guarantees):
            return "measured"
        return "holds" if self.holds else "violated"

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
                "ncp": figures.ncp,
                "ncp_by_quasi_identifier": dict(figures.losses),
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
    supersets: int = SUPERSETS,
) -> tuple[Audit, str]:
    """Audits a table: (what was found, the Great Expectations suite that checks its class table, as JSON).

    hierarchies: by column; by default they are read from where the question says. reference: the table whose distribution
    is the whole table's; the domain is the union of both. background: people that an attacker knows, by their raw
    quasi-identifiers. classes_output: where the class table is written, as Delta.

    Raises:
        InputError: naming the column and what is wrong with it.
        GuaranteeError: if Great Expectations does not come to the same verdict.
    """
    check_columns(table, question.labels, question.sensitive_attributes, "the table")
    trees = (
        read_hierarchies(question.quasi_identifiers, question.sensitive_attributes, table.sparkSession)
        if hierarchies is None
        else hierarchies
    )
    with ExitStack() as held:
        observation = Observation()
        tallies = held.enter_context(kept(tallied(table, question, observation)))
        quasi, notes = judged_quasi(tallies, question, trees)
        check_rows(observation)
        counts, tuple_counts = count_values(tallies)
        attributes = judged_attributes(table, counts, question, trees, reference)
        columns = [AttackColumns(a, question.gain, trees.get(a.name)) for a in attributes]
        knowing = KnowingColumns(tuple(a.name for a in attributes)) if len(attributes) > 1 else None
        tuples = _tuple_closeness(tuple_counts, attributes) if len(attributes) > 1 else None
        more: list[ClassMeasure] = [*columns, *([knowing] if knowing else []), *([tuples] if tuples else [])]
        classes = class_table(tallies, quasi, attributes, more)
        asked_near = question.n is not None and any(a.asked.t is not None for a in attributes)
        if asked_near:
            classes, tried = _with_supersets(classes, tallies, question, attributes, trees, supersets)
            notes += tried
        if classes_output is not None:
            write_delta(classes, classes_output)
        classes = held.enter_context(kept(classes))
        figures = class_figures(classes, question.k, quasi, attributes)
        guarantees = list(figures.guarantees)
        if asked_near:
            guarantees = _near_supersets(guarantees, classes, question, attributes)
        if tuples is not None:
            guarantees.append(_of_tuples(classes, tuples, [a.name for a in attributes]))
        elif len(attributes) > 1:
            notes.append("the tuples of all sensitive attributes are too many for their distance to be told")
        found = Audit(
            question,
            figures,
            tuple(guarantees),
            tuple(exposures(classes, columns, knowing, figures.rows)),
            None if background is None else join_background(classes, background, quasi, trees),
            tuple(notes),
        )
        suite = suite_of(question, attributes)
        if validate(classes, "every class", suite)[0] != found.holds:
            raise GuaranteeError(
                "Great Expectations comes to another verdict on the class table; this is an error of ours, please report it"
            )
        return found, suite_json("every class", suite)


def check_columns(table: DataFrame, labels: Sequence[str], sensitive: Iterable[str], what: str) -> None:
    """Raises InputError if a column is missing, ambiguous, or of a nested type."""
    names = [name for name in table.columns if name != MALFORMED]
    for role, columns in (("quasi-identifier", labels), ("sensitive attribute", sensitive)):
        for column in columns:
            if column not in names:
                raise InputError(f"{role} {column!r} is not in {what}; it has {', '.join(names)}")
            if names.count(column) > 1 or [name.lower() for name in names].count(column.lower()) > 1:
                raise InputError(f"{role} {column!r}: {what} has several columns of this name but for case; rename them")
            kind = table.schema[column].dataType
            if isinstance(kind, (*UNSUPPORTED, T.BinaryType)):
                raise InputError(f"{role} {column!r} is of type {kind.simpleString()}; expected single values")


def tallied(table: DataFrame, question: Question, observation: Observation) -> DataFrame:
    """The tallies of the table's classes; its rows are read once, and seen by the observation."""
    malformed = quoted(MALFORMED) if MALFORMED in table.columns else F.lit(False)
    observed = table.observe(observation, F.count(F.lit(1)).alias("rows"), F.sum(malformed.cast("bigint")).alias("malformed"))
    return tally_classes(observed, question.labels, list(question.sensitive_attributes))


def check_rows(observation: Observation) -> None:
    """Raises InputError if there were no rows, or malformed ones."""
    rows, malformed = observation.get["rows"], observation.get["malformed"]
    if not rows:
        raise InputError("the table has no rows")
    if malformed:
        raise InputError(f"{malformed} of {rows} rows are malformed (too few or too many fields); mend them, or give --option (sep, quote)")


def judged_attributes(
    table: DataFrame,
    values: Sequence[Counts],
    question: Question,
    hierarchies: Mapping[str, Hierarchy],
    reference: DataFrame | None,
) -> list[JudgedAttribute]:
    """The sensitive attributes with the distribution that classes are compared with: the table's (its `values` and their
    records, for each attribute), or the reference's.
    """
    if reference is not None:
        _check_reference(reference, table, list(question.sensitive_attributes))
    judged = []
    for (name, asked), counts in zip(question.sensitive_attributes.items(), values, strict=True):
        if reference is not None:
            grouped = reference.groupBy(plain(reference, name).cast("string").alias("value")).count().toArrow()
            known = dict(zip(grouped["value"].to_pylist(), grouped["count"].to_pylist(), strict=True))
            counts = {**dict.fromkeys(counts, 0), **known}
        judged.append(judged_attribute(name, asked, counts, hierarchies.get(name), table.schema[name].dataType))
    return judged


def _check_reference(reference: DataFrame, table: DataFrame, sensitive: Sequence[str]) -> None:
    """Raises InputError if the reference lacks a sensitive attribute or writes its values in another way."""
    check_columns(reference, [], sensitive, "the reference")
    for name in sensitive:
        kinds = [frame.schema[name].dataType for frame in (reference, table)]
        if kinds[0] != kinds[1] and any(isinstance(kind, FRACTIONAL) for kind in kinds):
            told = " and ".join(kind.simpleString() for kind in kinds)
            raise InputError(f"sensitive attribute {name!r} is {told} in the reference and in the table; expected one type")
    if reference.isEmpty():
        raise InputError("the reference has no rows")


def _tuple_closeness(found: Histogram | None, attributes: Sequence[JudgedAttribute]) -> TupleCloseness | None:
    """Equal distance on the tuples of all sensitive attributes; None where they are too many."""
    domains = tuple(len(a.values) for a in attributes)
    if found is None or math.prod(domains) >= MOST_KEYS:
        return None
    places = [{value: code for code, value in enumerate(a.values)} for a in attributes]
    codes = np.array([[place[value] for place, value in zip(places, key, strict=True)] for key in found], dtype=np.int64)
    keys = tuple_keys(codes, domains)
    order = np.argsort(keys)
    return TupleCloseness(domains, keys[order], np.array(list(found.values()), dtype=np.int64)[order])


def _of_tuples(classes: DataFrame, tuples: TupleCloseness, names: Sequence[str]) -> Guarantee:
    """How far the tuples of a class are from the table's: closeness of each attribute by itself diminishes for several."""
    by_size = classes.groupBy("size").agg(F.max(F.struct("numerator_tuples", "quasi_identifiers")).alias("worst")).toArrow().to_pylist()
    unit = 2 * int(tuples.counts.sum())
    emds = [(Fraction(int(part["worst"]["numerator_tuples"]), unit * part["size"]), part["worst"]["quasi_identifiers"]) for part in by_size]
    emd, worst = max(emds, key=lambda pair: pair[0])
    return Guarantee("t-closeness of tuples", " and ".join(names), None, emd, 0, 0, worst)


def _with_supersets(
    classes: DataFrame,
    tallies: DataFrame,
    question: Question,
    attributes: Sequence[JudgedAttribute],
    hierarchies: Mapping[str, Hierarchy],
    most: int,
) -> tuple[DataFrame, list[str]]:
    """The class table with the supersets that prove (n, t)-closeness, and a note if not all were tried."""
    ladders = [Ladder(name, hierarchies.get(name)) for name in question.labels]
    vectors, every = list(islice(nearest_heights(ladders), most)), count_heights(ladders)
    extended = with_supersets(classes, tallies, ladders, attributes, question.n or 0, vectors)
    if len(vectors) >= every:
        return extended, []
    return extended, [
        f"(n, t): {len(vectors)} of {every:,} ways to generalize labels further were tried, the nearest first; more may prove more"
    ]


def _near_supersets(
    guarantees: Sequence[Guarantee], classes: DataFrame, question: Question, attributes: Sequence[JudgedAttribute]
) -> list[Guarantee]:
    """(n, t)-closeness asked in place of t-closeness, which is only told."""
    result = [replace(g, asked=None, classes=0, rows=0) if g.measure == "t-closeness" else g for g in guarantees]
    for a in attributes:
        if a.asked.t is not None:
            superset, emd = quoted(measure_column("superset", a.name)), quoted(measure_column("nt_emd", a.name))
            open_class = superset.isNull()
            (found,) = (
                classes.agg(
                    F.sum(open_class.cast("bigint")).alias("classes"),
                    F.sum(F.when(open_class, F.col("size")).otherwise(0)).alias("rows"),
                    F.max(
                        F.struct(open_class.alias("open"), emd.alias("emd"), F.col("quasi_identifiers"), superset.alias("superset"))
                    ).alias("worst"),
                )
                .toArrow()
                .to_pylist()
            )
            worst = {**found["worst"]["quasi_identifiers"], "superset": found["worst"]["superset"]}
            asked = f"n = {question.n}, t = {float(a.asked.t):g}"
            result.append(Guarantee("(n, t)-closeness", a.name, asked, found["worst"]["emd"], found["classes"], found["rows"], worst))
    return result


def suite_of(question: Question, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The expectations over the class table that say what was asked."""
    near = question.n is not None
    told = [replace(a, asked=a.asked.model_copy(update={"t": None})) if near else a for a in attributes]
    proofs = [expect_present(measure_column("superset", a.name)) for a in attributes if near and a.asked.t is not None]
    return [expect_some_rows(), *expectations_of(question.k, told), *proofs]


def _guarantee_json(g: Guarantee, question: Question) -> dict[str, Any]:
    asked = question.sensitive_attributes.get(g.attribute or "")
    exact = isinstance(g.achieved, Fraction)
    bound = f"c = {g.asked.c}, l = {g.asked.l}" if isinstance(g.asked, Recursive) else g.asked
    return {
        "measure": g.measure,
        "attribute": g.attribute,
        "distance": asked.distance if asked and "closeness" in g.measure else None,
        "asked": float(bound) if isinstance(bound, Fraction) else bound,
        "asked_exact": str(bound) if isinstance(bound, Fraction) else None,
        "achieved": float(g.achieved) if exact else g.achieved,
        "achieved_exact": str(g.achieved) if exact else None,
        "holds": g.holds if g.asked is not None else None,
        "classes": g.classes,
        "rows": g.rows,
        "worst": dict(g.worst),
    }


def _background_json(found: BackgroundJoin) -> dict[str, Any]:
    shares = {key: float(value) if isinstance(value, Fraction) else value for key, value in vars(found.risks).items()}
    return {**vars(found), "joined": list(found.joined), "risks": shares}
