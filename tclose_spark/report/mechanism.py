"""What the choices of the method reveal (`internal/minimality.json`): its figures, and the same in
words and figures without values.
"""

from __future__ import annotations

from collections.abc import Sequence

from tclose_spark.io.run_state import MechanismRecord, Recorded


class BeyondChance(Recorded):
    """What classes show of people of one value, and what is true: see `WideClassGroup`."""

    quasi_identifier: str
    value: str | None
    sensitive_attribute: str
    sensitive_value: str | None
    people: int
    wide: int
    suppressed: int = 0
    said: float
    true: float


class RefusedCut(Recorded):
    """Parts of classes: the most certain has `rows`, of which `at_least` have the value."""

    quasi_identifier: str
    sensitive_attribute: str
    sensitive_value: str | None
    classes: int
    rows: int
    at_least: int


class CutFigures(Recorded):
    """Classes that the method did not cut further: how many there are, are large enough, were
    looked at, and reveal something.
    """

    classes: int
    large_enough: int
    looked_at: int
    tell: int
    values: Sequence[RefusedCut]


class ExtremeAggregate(Recorded):
    """A published aggregate at an end of its column that fewer than k rows reach."""

    column: str
    aggregate: str
    end: str
    rows: int
    k: int


class FewValues(Recorded):
    """Classes with an aggregate of fewer than k rows."""

    column: str
    aggregate: str
    classes: int
    k: int


class Mechanism(Recorded):
    """The content of the file. It has raw values, so it must stay inside.

    why: it is not measured. left_out: quasi-identifiers with too many values.
    worst: the first of `beyond_chance`. values: the most evident of each value.
    extreme_aggregates: None if this session does not count.
    """

    measured: bool
    why: str = ""
    left_out: Sequence[str] = ()
    worst: BeyondChance | None = None
    beyond_chance: Sequence[BeyondChance] = ()
    values: Sequence[BeyondChance] = ()
    refused_cuts: CutFigures | None = None
    extreme_aggregates: Sequence[ExtremeAggregate] | None = ()
    few_values: Sequence[FewValues] = ()


def mechanism_notes(figure: Mechanism) -> list[str]:
    """What the choices of the method reveal, without values."""
    if not figure.measured:
        return [f"what the method's choices reveal is not measured: {figure.why}"]
    notes = list[str]()
    cuts = figure.refused_cuts
    if figure.left_out:
        names = ", ".join(figure.left_out)
        notes.append(
            f"what the method's choices reveal is not measured for {names}, which have too many "
            "values",
        )
    for sensitive in dict.fromkeys(line.sensitive_attribute for line in figure.beyond_chance):
        lines = [line for line in figure.beyond_chance if line.sensitive_attribute == sensitive]
        names = " or ".join(dict.fromkeys(line.quasi_identifier for line in lines))
        who = (
            "are suppressed or in wide classes"
            if any(line.suppressed for line in lines)
            else "are left in wide classes"
        )
        notes.append(
            f"{sensitive}: an adversary who knows the method learns more than the classes say "
            f"about rows of some {names} that {who}",
        )
    if cuts is not None and cuts.tell:
        names = ", ".join(dict.fromkeys(line.sensitive_attribute for line in cuts.values))
        notes.append(
            f"{names}: of {cuts.tell:,} classes an adversary who knows the method learns more "
            "about a part of the rows, because the method did not cut the class further",
        )
    return notes


def extreme_aggregates_notes(figure: Mechanism, public: bool) -> list[str]:
    """What extreme aggregates reveal. public: without the number of rows."""
    extremes = figure.extreme_aggregates
    if extremes is None:
        return [
            "whether an aggregate is possible for few rows only is not measured under Spark Connect",
        ]
    notes = []
    for one in extremes:
        rows = one.rows
        least = f"fewer than k = {one.k:,} rows"
        possible = least if public else f"{rows:,} row{'s' if rows > 1 else ''} only, {least}"
        code = "top-code" if one.end == "highest" else "bottom-code"
        notes.append(
            f"{one.column}: the {one.end} published {one.aggregate} is possible for "
            f"{possible}: at least one of those that reach it is in its class; publish ranges "
            f"(without method.representative), or {code} the column",
        )
    for few in figure.few_values:
        classes = "some classes" if public else f"{few.classes:,} classes"
        notes.append(
            f"{few.column}: in {classes} fewer than k = {few.k:,} rows have a value, and the "
            f"published {few.aggregate} is that of these alone, or of one; publish ranges "
            "(without method.representative)",
        )
    return notes


def mechanism_record(figure: Mechanism) -> MechanismRecord:
    """What a run records of it, without values."""
    if not figure.measured:
        return MechanismRecord(
            measured=False,
            warnings=extreme_aggregates_notes(figure, public=True),
        )
    worst = figure.worst
    cuts = figure.refused_cuts
    found = {} if worst is None else worst.to_json()
    shares = {key: x for key, x in found.items() if key not in ("value", "sensitive_value")}
    record = MechanismRecord(measured=True, worst=shares or None, warnings=mechanism_notes(figure))
    if cuts is None:
        return record
    counted = {key: n for key, n in cuts.to_json().items() if key != "values"}
    return record.having({"refused_cuts": counted})
