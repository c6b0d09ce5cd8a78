"""Audits and explanations as tables for the terminal, readable from 80 columns.

Figures are never broken. Labels and values are printed as they are, without reading markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.background import BackgroundJoin
from tclose_spark.auditing.attacks.differences import Differences
from tclose_spark.auditing.attacks.exposures import Exposure
from tclose_spark.auditing.attacks.intersection_attack import Intersection
from tclose_spark.auditing.result import AuditResult, ClassExplanation, Together
from tclose_spark.checks.classes.cells import CellFigures
from tclose_spark.checks.classes.population import PopulationRisks
from tclose_spark.checks.labels.wildcards import MEASURE
from tclose_spark.measures.disclosure.individual import HouseholdRisk, IndividualRisk
from tclose_spark.measures.disclosure.linkage import Linkage
from tclose_spark.measures.disclosure.population import Presence
from tclose_spark.measures.disclosure.population_uniques import PopulationUniques
from tclose_spark.measures.disclosure.rare_cells import RareCells
from tclose_spark.measures.disclosure.special_uniques import SpecialUniques
from tclose_spark.measures.distances.transport import Move
from tclose_spark.requirements.criterion import Guarantee, Labels
from tclose_spark.runfile.attributes import Recursive

MOST_LINES = 30  # of values and of moves; --json has all
UNIQUES_BY = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "the slide negative binomial"}
VERDICTS = {
    "holds": "all requirements hold",
    "violated": "NOT all requirements hold",
    "measured": "nothing is required",
}


def audit_lines(audit: AuditResult, name: str) -> Iterator[Table | Text]:
    """The verdict, the guarantees, the attacks, the utility, and notes."""
    figures = audit.figures
    whose = "" if audit.people is None else f" of {sum(audit.people.values()):,} people"
    rows = f"{figures.rows:,} rows{whose} in {figures.classes:,} classes{strict_k(audit)}"
    yield Text(f"{name}: {rows}; {VERDICTS[audit.verdict]}")
    yield from _guarantees(audit.guarantees)
    if audit.attacks:
        yield from _attacks(audit.attacks)
    if audit.background is not None:
        yield from _background(audit.background)
    if audit.special_uniques is not None:
        yield from _special_uniques(audit.special_uniques)
    if audit.cells is not None:
        yield from _rare_cells(audit.cells)
    if audit.linkage is not None:
        yield Text(f"Linkage with the raw table: {linkage_text(audit.linkage)}")
    if audit.risks is not None:
        yield from _risks(audit.risks)
    if audit.together is not None:
        yield from _together(audit.together)
    yield Text(f"Utility: information loss (NCP) {loss_text(audit)}")
    yield Text(
        f"  average class size {figures.rows / figures.classes:,.1f} (from {figures.smallest:,} to "
        f"{figures.largest:,}), discernibility {figures.discernibility:,}"
    )
    for note in audit.notes:
        yield Text(f"note: {note}")
    yield Text(
        "note: k, l and t do not protect membership in the table; --background TABLE measures it"
    )


def loss_text(audit: AuditResult) -> str:
    """The information loss of the table and of each quasi-identifier; `?` where it is unknown."""
    if not (audit.figures.losses or audit.understated):
        return "unknown, aggregates are published"
    losses = {**dict.fromkeys(audit.understated), **audit.figures.losses}
    each = ", ".join(f"{q} {'?' if loss is None else f'{loss:.4f}'}" for q, loss in losses.items())
    mean = (
        "?" if audit.ncp is None else f"{'at least ' if audit.understated else ''}{audit.ncp:.4f}"
    )
    return f"{mean} ({each})"


def explanation_lines(explanation: ClassExplanation) -> Iterator[Table | Text]:
    """Both distributions side by side, the distance, and the transport plan."""
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size, t = int(whole.sum()), int(part.sum()), explanation.attribute.settings.t
    required = (
        ""
        if t is None
        else f", required {number_text(t)}: {'holds' if explanation.holds else 'does NOT hold'}"
    )
    yield Text(f"Class {labels_text(explanation.labels)}: {size:,} records, compared with {n:,}")
    yield Text(
        f"Earth mover's distance of {a.name} ({a.settings.distance}): "
        f"{number_text(explanation.emd)} = {explanation.emd}{required}"
    )
    rows = []
    for i in _shown_values(explanation):
        p, q = part[i] / size, whole[i] / n
        rows.append(
            [value_text(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}"]
        )
    yield from _table(
        f"Distribution of {a.name} (shares)",
        ["value", "records", "class", "table", "difference"],
        rows,
    )
    if len(whole) > MOST_LINES:
        yield Text(
            f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json "
            "has all)"
        )
    shown, rest = shown_moves(explanation)
    title = "Transport plan: how the class's distribution becomes the table's"
    yield from _table(
        title, ["move", "mass", "distance", "cost"], [_move(explanation, move) for move in shown]
    )
    cost = number_text(sum((move.cost for move in rest), Fraction(0)))
    left_out = (
        f" ({len(rest):,} cheaper moves, which cost {cost}, are left out; --json has all)"
        if rest
        else ""
    )
    yield Text(f"The costs add up to {number_text(explanation.plan.cost)}.{left_out}")


def strict_k(audit: AuditResult) -> str:
    """Both k for the headline, if the verdict is on one with missing values as any value."""
    found = {g.measure: achieved_text(g) for g in audit.guarantees}
    if MEASURE not in found:
        return ""
    return f", k {found[MEASURE]} if a missing value may be any, strictly {found['k-anonymity']}"


def guarantee_name(g: Guarantee) -> str:
    """The measure, and its attribute."""
    return f"{g.measure} of {g.attribute}" if g.attribute else g.measure


def required_text(g: Guarantee) -> str:
    """The requirement; empty if there is none."""
    if isinstance(g.required, Recursive):
        return f"({number_text(g.required.c)}, {g.required.l})"
    return "" if g.required is None else number_text(g.required)


def achieved_text(g: Guarantee) -> str:
    """The worst class's figure; for a fraction also its exact form, if that is short."""
    if isinstance(g.achieved, bool):
        return "yes" if g.achieved else "no"
    if (
        isinstance(g.achieved, Fraction)
        and g.achieved.denominator > 1
        and len(str(g.achieved)) <= 15
    ):
        return f"{number_text(g.achieved)} = {g.achieved}"
    return number_text(g.achieved)


def number_text(x: Any) -> str:
    """A figure; six significant digits unless it is a whole number."""
    return f"{float(x):.6g}" if isinstance(x, float | Fraction) else str(x)


def share_text(share: Fraction | None) -> str:
    """A share; `?` if it is not known."""
    return "?" if share is None else f"{float(share):.6f}"


def value_text(value: str | None) -> str:
    """A value, or "missing"."""
    return "missing" if value is None else value


def labels_text(labels: Labels) -> str:
    """A class by its labels; several classes by theirs."""
    return ", ".join(f"{name}={_label_text(label)}" for name, label in labels.items())


def _label_text(label: Any) -> str:
    if isinstance(label, list):
        return " or ".join(map(_label_text, label))
    return "missing" if label is None else repr(label)


def cell_text(labels: Labels) -> str:
    """A cell by its class in each release."""
    each = [
        "not in it" if of_class is None else labels_text(of_class) for of_class in labels.values()
    ]
    return "; ".join(f"{release}: {text}" for release, text in zip(labels, each, strict=True))


def shown_moves(explanation: ClassExplanation) -> tuple[list[Move], list[Move]]:
    """(the moves to show, those left out): if there are more than MOST_LINES, the most
    expensive.
    """
    moves = list(explanation.plan.moves)
    if len(moves) > MOST_LINES:
        moves.sort(key=lambda move: -move.cost)
    return moves[:MOST_LINES], moves[MOST_LINES:]


def _guarantees(
    guarantees: Iterable[Guarantee],
    title: str = "Guarantees (classes and rows: that violate it)",
    counted: tuple[str, str, str] = ("class", "classes", "rows"),
) -> Iterator[Table | Text]:
    """The guarantees, and below them their exact figures and worst classes. counted: what they
    count, and of whom.
    """
    rows: list[list[str | Text]] = []
    below = []
    for g in guarantees:
        holds, violations = Text("measured", "dim"), ["", ""]
        if g.required is not None:
            holds = Text("yes", "green") if g.holds else Text("NO", "red")
            violations = [f"{g.classes:,}", f"{g.rows:,}"]
        achieved, _, exact = achieved_text(g).partition(" = ")
        rows.append([guarantee_name(g), required_text(g), achieved, holds, *violations])
        exactly = f"exactly {exact}; " if exact else ""
        shown = (
            _class_text(g.worst, g.size) if counted[0] == "class" else _cell_text(g.worst, g.size)
        )
        below.append(Text(f"{guarantee_name(g)}: {exactly}worst {counted[0]} {shown}"))
    yield from _table(title, ["guarantee", "required", "achieved", "holds", *counted[1:]], rows)
    yield from below


def _attacks(attacks: Iterable[Exposure]) -> Iterator[Table | Text]:
    """The attacks, and below them when a class is exposed, and their worst classes."""
    rows, below = [], []
    for e in attacks:
        name = f"{e.attack}, {e.attribute}"
        rows.append([name, f"{e.classes:,}", f"{e.people:,}", f"{e.before:.3f} -> {e.after:.3f}"])
        if e.worst is None:
            worst = f"mean over rows, knowing {e.about}"
        elif e.worst:
            worst = f"worst {value_text(e.about)} in {labels_text(e.worst)}"
        else:
            worst = f"worst class {_class_text({}, e.size)}"
        below.append(Text(f"{name}: {e.criterion}; {worst}"))
    title = "Attacks (belief: without and with the table's class)"
    yield from _table(title, ["attack", "classes", "rows", "belief"], rows)
    yield from below


def _risks(found: PopulationRisks) -> Iterator[Table | Text]:
    """The figures of each adversary, and below them how they came about, and the uniques."""
    above = number_text(float(found.threshold))
    rows = []
    for adversary, risk in found.risks.items():
        name = f"{adversary} (estimate)" if risk.estimate else adversary
        rows.append([name, *(f"{float(x):.6f}" for x in (risk.maximum, risk.mean, risk.share))])
    title = f"Risk of re-identification (share: of records with a risk above {above})"
    yield from _table(title, ["risk", "maximum", "mean", "share"], rows)
    yield Text(f"population: {population_text(found)}")
    yield from map(Text, individual_texts(found))
    if isinstance(of_households := found.risks.get("household"), HouseholdRisk):
        share, whole = float(of_households.unique), of_households.households
        yield Text(f"households: in {share:.2%} of {whole:,}, someone is alone in a class")
    if found.unmatched:
        yield Text(
            f"note: {found.unmatched:,} classes have more records than people of the population "
            "who fit them; they count as if so many people did"
        )
    yield Text(f"sample uniques: {found.alone:,} people are alone in their class")
    if found.unique is not None and found.alone:
        yield Text(
            f"of these, {found.unique:,} are the only one of the population who fits the class"
        )
    if found.presence is not None:
        yield Text(presence_text(found.presence))
    if found.uniques is not None:
        yield Text(
            f"population uniques, an estimate: {found.uniques.estimate:,.0f} "
            f"{uniques_text(found.uniques)}"
        )


def _together(found: Together) -> Iterator[Table | Text]:
    """The guarantees of several releases together, and below them their worst cells, and whose they
    are.
    """
    one = "cell" if isinstance(found, CellFigures) else "group"
    if found.guarantees:
        title = f"Several releases together ({one}s and people: that violate it)"
        yield from _guarantees(found.guarantees, title, (one, f"{one}s", "people"))
    else:
        yield Text("Several releases together", "bold")
    yield from map(Text, together_lines(found))
    if isinstance(found, Intersection) and found.values:
        title = (
            "Values that all releases leave (people with one value, and with none; the largest "
            "belief)"
        )
        yield from _table(title, ["attribute", "one value", "none", "belief"], values_left(found))


def together_lines(found: Together) -> Iterator[str]:
    """What several releases reveal together, in sentences."""
    if isinstance(found, CellFigures):
        held = ", ".join(f"{n:,} in {release}" for release, n in found.by_release.items())
        yield (
            f"{found.people:,} people ({held}): {found.stayed:,} stayed, {found.arrived:,} "
            f"arrived, {found.left:,} left; they are in {found.cells:,} cells, and {found.alone:,} "
            "of them are alone in theirs"
        )
    elif isinstance(found, Intersection):
        yield (
            f"{found.people - found.outside:,} of {found.people:,} listed people fit a class of "
            f"every release, by {', '.join(found.joined)}; they fit {found.combinations:,} "
            f"combinations of classes, and {found.alone:,} of them are alone in theirs"
        )
    elif isinstance(found, Differences):
        yield (
            f"by {', '.join(found.joined)}, classes form {found.groups:,} groups that do not "
            "overlap"
        )
        for one in found.found:
            yield (
                f"{one.attribute}: {' and '.join(one.releases)} expose the values of those who "
                f"came or left (people: {one.people:,}, groups: {one.groups:,})"
            )


def values_left(found: Intersection) -> list[list[str]]:
    """A row for each sensitive attribute: its name, people with one value and with none, the
    largest belief.
    """
    return [
        [
            a.attribute,
            f"{a.certain:,}",
            f"{a.contradicted:,}",
            "" if a.belief is None else f"{a.belief:.3f}",
        ]
        for a in found.values
    ]


def population_text(found: PopulationRisks) -> str:
    """The population, and where its size comes from."""
    population, people = found.population, f"{float(found.people or 0):,.0f} people"
    if population is None:
        return "not known, so only the prosecutor's risk follows (--population)"
    if population.fraction is not None:
        return (
            f"an estimate, {people}: a class has its size divided by the sampling fraction "
            f"{population.fraction}"
        )
    if population.weight is not None:
        return f"an estimate, {people}: a class has the sum of {population.weight!r}"
    return f"counted, {people}: those of the table whose quasi-identifiers the labels cover"


def individual_texts(found: PopulationRisks) -> list[str]:
    """The expected number of re-identifications, if it is estimated, and the threshold for a stated
    share of them.
    """
    risk = found.risks.get("individual")
    if not isinstance(risk, IndividualRisk):
        return []
    expected = (
        f"expected re-identifications, an estimate: {risk.expected:,.2f} records, "
        f"{float(risk.mean):.4%}"
    )
    if risk.stated is None or risk.threshold is None:
        return [expected]
    stated = f"{float(risk.stated):g} of records are expected to be re-identified"
    if risk.threshold >= 1:
        return [expected, f"at most {stated}"]
    return [
        expected,
        f"if no record had an individual risk above {risk.threshold:.6f}, at most {stated}",
    ]


def presence_text(found: Presence) -> str:
    """The chances that people of the population are in the table."""
    return (
        "delta-presence: people of the population who fit a class are in the table with a chance "
        f"of {number_text(found.smallest)} to {number_text(found.largest)}; {found.outside:,} "
        "people fit none, and by this list are not in the table"
    )


def uniques_text(found: PopulationUniques) -> str:
    """How many of the population the estimate is, by which estimator, and what the others give."""
    each = {"Pitman": found.pitman, "Zayatz": found.zayatz, "slide negative binomial": found.snb}
    listed = ", ".join(
        f"{name} {'no solution' if x is None else f'{x:,.0f}'}" for name, x in each.items()
    )
    return (
        f"of {float(found.population):,.0f} people "
        f"({found.estimate / float(found.population):.2%}), by "
        f"{UNIQUES_BY[found.chosen or 'zayatz']} after the rule of Dankar et al. 2012 ({listed})"
    )


def _background(joined: BackgroundJoin) -> Iterator[Table | Text]:
    """The figures of each adversary, and below them what they mean."""
    risks = joined.risks
    figures = [
        (
            "prosecutor",
            f"{float(risks.prosecutor):.6f}",
            "worst chance to pick the record of a person known to be in the table (mean "
            f"{float(risks.prosecutor_mean):.6f})",
        ),
        ("journalist", share_text(risks.journalist), "worst chance to name the person of a record"),
        (
            "marketer",
            share_text(risks.marketer),
            "expected share of records whose person is named correctly",
        ),
        (
            "membership",
            f"{joined.members:,}",
            f"of {joined.people:,} rows of the background table, those of people who are "
            "recognizably in the table, if the background table contains everyone in it",
        ),
        (
            "no match",
            f"{joined.people - joined.candidates:,}",
            "rows of the background table that fit no class",
        ),
    ]
    for g in joined.guesses:
        meaning = (
            f"rows of the background table for which a value of {g.attribute} is guessed: they fit "
            "none of the narrow classes of their value, and these hold as much of it as any class"
        )
        if g.people:
            meaning += f"; their classes indicate it for {g.said:.3f}, the guess expects at least {g.at_least:.3f}"
        if g.right is not None:
            meaning += f", and is right for {g.right:.3f}"
        figures.append((f"minimality attack, {g.attribute}", f"{g.people:,}", meaning))
    title = f"Join with the background table, by {', '.join(joined.joined)}"
    yield from _table(
        title, ["adversary", "figure"], [[adversary, figure] for adversary, figure, _ in figures]
    )
    yield from (Text(f"{adversary}: {meaning}") for adversary, _, meaning in figures)


def _special_uniques(found: SpecialUniques) -> Iterator[Table | Text]:
    """The rows by size of their MSUs, the part of each quasi-identifier, and frequent
    combinations.
    """
    sizes = [
        [f"{size} of {len(found.columns)}", f"{n:,}"]
        for size, n in enumerate(found.by_size, start=1)
    ]
    title = "Special uniques (rows: unique by so many quasi-identifiers, not by fewer of them)"
    yield from _table(title, ["quasi-identifiers", "rows"], sizes)
    shares = [[one.name, f"{one.uniques:,}", f"{one.share:.3f}"] for one in found.columns]
    title = "Quasi-identifiers that make rows unique (uniques: MSUs with it; share: of scores)"
    yield from _table(title, ["quasi-identifier", "uniques", "share"], shares)
    frequent = [[", ".join(one.columns), f"{one.rows:,}"] for one in found.frequent]
    yield from _table(
        "Combinations that make most rows unique", ["quasi-identifiers", "rows"], frequent
    )
    yield Text(
        f"{found.unique:,} of {found.rows:,} rows are unique by at most {found.searched} "
        f"quasi-identifiers; SUDA score {number_text(found.highest)} at most, "
        f"{number_text(found.mean)} on average; {found.combinations:,} combinations examined"
    )


def _rare_cells(found: RareCells) -> Iterator[Table | Text]:
    """The worst combinations, and the part of each quasi-identifier."""
    thresholds = ", ".join(f"{n:,} of size {size}" for size, n in enumerate(found.below, start=1))
    below = f"{found.below[0]:,} rows" if len(set(found.below)) == 1 else thresholds
    figures = [
        [
            ", ".join(one.columns),
            *(f"{n:,}" for n in (one.cells, one.smallest, one.rare_cells, one.rare_rows)),
        ]
        for one in found.combinations
    ]
    title = f"Cells of combinations (rare: below {below}; rows: in rare cells)"
    yield from _table(
        title, ["quasi-identifiers", "cells", "smallest", "rare", "rows"], figures[:MOST_LINES]
    )
    if len(figures) > MOST_LINES:
        yield Text(
            f"({len(figures) - MOST_LINES:,} combinations with fewer such rows are left out; "
            "--json has all)"
        )
    shares = [[one.name, f"{one.rare_cells:,}"] for one in found.columns]
    yield from _table(
        "Quasi-identifiers by rare cells that they take part in",
        ["quasi-identifier", "rare"],
        shares,
    )
    yield Text(
        f"{found.rare_rows:,} of {found.rows:,} rows are in a rare cell; {found.rare_cells:,} rare "
        f"cells in {len(found.combinations):,} combinations"
    )


def linkage_text(found: Linkage) -> str:
    """How often rows are linked to their own class."""
    if found.one_to_one is None:
        pairs = "one-to-one linkage is not measured, as the raw table or the release has more rows"
    else:
        pairs = f"{found.one_to_one:.4f} if each raw row gets another released row"
    return (
        f"of {found.rows:,} raw rows among {found.classes:,} classes, at most {found.nearest:.4f} "
        f"have their own class first by distance (a blind guess: {found.blind:.4f}); {pairs}; "
        f"{found.without:,} fit no class with their sensitive values"
    )


def _shown_values(explanation: ClassExplanation) -> list[int]:
    """The codes of the values to show, in order: if there are more than MOST_LINES, those whose
    shares differ most.
    """
    part, whole = explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    return sorted(
        sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES]
    )


def _move(explanation: ClassExplanation, move: Move) -> list[str]:
    ends = [value_text(explanation.attribute.values[code]) for code in (move.source, move.target)]
    return [
        " -> ".join(ends),
        *(number_text(x) for x in (move.mass, Fraction(move.distance), move.cost)),
    ]


def _class_text(labels: Labels, size: int | None) -> str:
    """A class by its labels; if they are left out, by its size."""
    return (
        labels_text(labels)
        if labels or size is None
        else f"of {size:,} record{'s' if size > 1 else ''}"
    )


def _cell_text(labels: Labels, size: int | None) -> str:
    """A cell by its labels and its people."""
    people = "1 person" if size == 1 else f"{size:,} people"
    return f"of {people}, {cell_text(labels)}" if labels else people


def _table(
    title: str, headings: list[str], rows: Iterable[Iterable[str | Text]]
) -> Iterator[Table | Text]:
    """A title, and a table of one column of text, which is wrapped, and columns of figures, which
    are not.
    """
    yield Text(title, "bold")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*[cell if isinstance(cell, Text) else Text(cell) for cell in row])
    yield table
