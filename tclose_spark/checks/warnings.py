"""Warnings about a release that holds, from the release alone. They name columns and counts, never
values of people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.partial_figures import NOTHING
from tclose_spark.checks.labels.loss import LabelVocabulary
from tclose_spark.measures.distances.ground_distances import fewest_rows
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.domains import Profile
from tclose_spark.table.far_numbers import CODES

SPELLED = (
    "differ from another by case, blanks, width or Unicode normal form only, and count as values "
    "of their own"
)
MUCH = 0.5  # information loss, or share of rows with *, above which a release is nearly useless
MANY = 20  # values of a sensitive attribute that are rarely all equally far apart
# Of its t, from which the largest distance shows that t limits the classes.
BINDING = Fraction(9, 10)
A_HIERARCHY = "give it a hierarchy or generalization: set, or leave it out"
INTERVALS = "compare intervals, without its hierarchy, which can end at any value"
LEFT_OUT = "if left out, the other quasi-identifiers may keep more"


def label_warnings(
    figures: ClassFigures,
    quasi: Sequence[JudgedQuasi],
    vocabulary: Mapping[str, LabelVocabulary],
    texts: Sequence[str],
) -> Iterator[str]:
    """Warnings about published labels. vocabulary: what they name; texts: the columns of text."""
    yield from _starred(figures, quasi, vocabulary)
    for name, named in vocabulary.items():
        if name in texts and (spellings := count_spellings(named.names)):
            yield f"{name}: {spellings:,} of {len(named.names):,} published values {SPELLED}"


def attribute_warnings(
    figures: ClassFigures,
    attributes: Sequence[JudgedAttribute],
    joint: Sequence[JudgedAttribute],
    texts: Sequence[str],
    apart: bool,
) -> Iterator[str]:
    """Warnings about sensitive attributes. joint: the tuples that must be close; texts: the columns
    of text; apart: whether only its class connects a person's sensitive values with the other
    columns.
    """
    for attribute in attributes:
        yield from _of_values(attribute, attribute.name in texts, apart)
    yield from _of_use(figures, [*attributes, *joint])


def far_number_warnings(
    profile: Profile,
    k: int,
    losses: Mapping[str, float],
    more: Sequence[float],
) -> Iterator[str]:
    """A warning about each quasi-identifier whose range few rows stretch. losses: published; more:
    those of the same labels on the range without these rows.
    """
    for one, loss in zip(profile.far, more, strict=True):
        said = (
            f"{one.said(profile.rows, k)}; on that range, its loss is {loss:.2g} instead of "
            f"{losses[one.column]:.2g}"
        )
        yield f"{one.column}: {said}; {CODES}"


def _of_values(attribute: JudgedAttribute, is_text: bool, apart: bool) -> list[str]:
    """Warnings about the values of one sensitive attribute."""
    name = attribute.name
    present = [
        value for value, n in zip(attribute.values, attribute.distance.table, strict=True) if n
    ]
    sentences = []
    if present == [None]:
        sentences.append(f"{name}: missing in all rows, so it has no information")
    elif len(present) == 1:
        sentences.append(
            f"{name}: all rows have one value, which is certain for everybody known to be in the "
            "table",
        )
    elif 2 * len(present) > (rows := int(attribute.distance.table.sum())):
        finds = (
            "the class, and the sensitive values beside it"
            if apart
            else "the record and its other columns"
        )
        sentences.append(
            f"{name}: nearly unique, {len(present):,} values in {rows:,} rows; an adversary who "
            f"knows a person's value finds {finds}",
        )
    if is_text and (spellings := count_spellings(present)):
        sentences.append(
            f"{name}: {spellings:,} of {len(present):,} values {SPELLED}, for t and for l",
        )
    return [*sentences, *padded_order(attribute)]


def padded_order(attribute: JudgedAttribute, known: Collection[str | None] = ()) -> list[str]:
    """A warning if the order in the run file lists values that no row has, here or elsewhere
    (`known`).
    """
    unused = set(attribute.unused).difference(known)
    if not unused or not isinstance(attribute.settings.order, tuple):
        return []
    return [
        f"{attribute.name}: {len(unused):,} of the {len(attribute.values):,} values of its order "
        "are in no row; they can make distances smaller",
    ]


def _starred(
    figures: ClassFigures,
    quasi: Sequence[JudgedQuasi],
    vocabulary: Mapping[str, LabelVocabulary],
) -> Iterator[str]:
    """A warning about the quasi-identifiers that are `*` in most rows, one for each remedy."""
    named: dict[str, dict[str, int]] = {}
    for q in quasi:
        bins = figures.histograms.get("precision", {}).get(q.name, [])
        rows = (
            figures.rows
            if vocabulary[q.name].suppressed
            else sum(b["rows"] for b in bins if b["precision"] == NOTHING)
        )
        if rows > MUCH * figures.rows:
            bare = q.covers and not (q.loss.numeric or q.loss.sets or q.loss.hierarchy)
            cure = A_HIERARCHY if bare else INTERVALS if _could_be_intervals(q) else LEFT_OUT
            remedy = "" if figures.classes == 1 else f"; {cure}"
            named.setdefault(remedy, {})[q.name] = rows
    for remedy, rows_of in named.items():
        least = min(rows_of.values())
        part = f"{'at least ' if len(rows_of) > 1 else ''}{least:,} of {figures.rows:,}"
        share = "all" if least == figures.rows else part
        yield f"{', '.join(rows_of)}: the published value is * in {share} rows{remedy}"


def _could_be_intervals(quasi: JudgedQuasi) -> bool:
    """Whether its hierarchy was built from dates or numbers, whose labels could be intervals."""
    builder = quasi.builder
    return builder is not None and (builder.dates is not None or builder.intervals is not None)


def _of_use(figures: ClassFigures, attributes: Sequence[JudgedAttribute]) -> Iterator[str]:
    """A warning about a release that is nearly useless, with the cause and the change that helps
    most.
    """
    if figures.classes == 1 and (not figures.losses or figures.released_ncp > 0):
        alone = (
            "all rows are in one class: the quasi-identifiers distinguish nobody, and the table "
            "is nearly useless"
        )
        yield f"{alone}; {_remedy(figures, attributes)}"
    elif figures.losses and figures.ncp > MUCH:
        yield (
            f"the table is nearly useless: NCP is {figures.ncp:.4f}; {_remedy(figures, attributes)}"
        )


def _remedy(figures: ClassFigures, attributes: Sequence[JudgedAttribute]) -> str:
    """The requirement that costs most, by the figures, and the change that helps most."""
    found = [(a, g) for a in attributes if (g := figures.of("t-closeness", a.name)) is not None]
    limited = [
        (a, Fraction(g.required), Fraction(g.achieved)) for a, g in found if g.required is not None
    ]
    if not limited:
        return "fewer quasi-identifiers or a smaller k may preserve more"
    needed, widest, t = max(
        ((_fewest_rows(a, t), a, t) for a, t, _ in limited),
        key=lambda one: one[0],
    )
    k = figures.of("k-anonymity")
    if needed > (k.required if k is not None else 1):
        apart = "values are equally far apart (distance: equal)"
        other = "distance: ordered, if they have an order, or hierarchical"
        if widest.tuples is not None:
            apart = "tuples are equally far apart"
            other = "fewer attributes together"
        return (
            f"t of {widest.name} needs at least {needed:,} rows in each class, because its "
            f"{len(widest.values):,} {apart}; {other} may preserve more, as may a larger t"
        )
    a, t, achieved = max(limited, key=lambda one: one[2] / one[1] if one[1] else Fraction(1))
    if achieved >= BINDING * t:
        return (
            f"t of {a.name} is binding ({float(achieved):.4f} of {float(t):g}); a larger t or "
            "fewer quasi-identifiers may preserve more"
        )
    if any(a.settings.beta is not None or a.settings.l.frequency is not None for a in attributes):
        return (
            "no t is near its limit; a larger beta, a smaller frequency l or fewer "
            "quasi-identifiers may preserve more"
        )
    if figures.classes == 1:
        return "a larger t or fewer quasi-identifiers may preserve more"
    return "no t is near its limit; fewer quasi-identifiers or a smaller k may preserve more"


def _fewest_rows(attribute: JudgedAttribute, t: Fraction) -> int:
    """The rows below which no class can be within t of the table; 1 unless many values are equally
    far apart.

    See `measures.distances.ground_distances`.
    """
    if attribute.settings.distance != "equal" or np.count_nonzero(attribute.distance.table) <= MANY:
        return 1
    return fewest_rows(attribute.distance.table, t)
