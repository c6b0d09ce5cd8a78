"""Warnings about a release that holds, from the release alone. They name columns and counts, never values of people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tclose_spark.checks.classes.class_table import JudgedAttribute
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.labels.vocabulary import LabelVocabulary
from tclose_spark.runfile.text import count_spellings

SPELLED = "differ from another by case, blanks, width or Unicode normal form only, and count as values of their own"


def warnings_of(
    figures: ClassFigures,
    quasi: Mapping[str, LabelVocabulary],
    attributes: Sequence[JudgedAttribute],
    texts: Sequence[str],
) -> list[str]:
    """All warnings about a release. quasi: what its labels name; texts: the columns of text."""
    sentences = [f"{name}: the published value is * in all rows" for name, named in quasi.items() if named.suppressed]
    for name, named in quasi.items():
        if name in texts and (spellings := count_spellings(named.names)):
            sentences.append(f"{name}: {spellings:,} of {len(named.names):,} published values {SPELLED}")
    for attribute in attributes:
        sentences += _of_values(attribute, attribute.name in texts)
    return [*sentences, *_of_use(figures)]


def _of_values(attribute: JudgedAttribute, is_text: bool) -> list[str]:
    """Warnings about the values of one sensitive attribute."""
    name = attribute.name
    present = [value for value, n in zip(attribute.values, attribute.distance.table, strict=True) if n]
    sentences = []
    if present == [None]:
        sentences.append(f"{name}: missing in all rows, so it has no information")
    elif len(present) == 1:
        sentences.append(f"{name}: all rows have one value, which is certain for everybody known to be in the table")
    elif 2 * len(present) > (rows := int(attribute.distance.table.sum())):
        sentences.append(
            f"{name}: nearly unique, {len(present):,} values in {rows:,} rows; an adversary who knows a person's value "
            "finds the record and its other columns"
        )
    if is_text and (spellings := count_spellings(present)):
        sentences.append(f"{name}: {spellings:,} of {len(present):,} values {SPELLED}, for t and for l")
    return [*sentences, *padded_order(attribute)]


def padded_order(attribute: JudgedAttribute, known: Collection[str | None] = ()) -> list[str]:
    """A warning if the order in the run file lists values that no row has, here or elsewhere (`known`)."""
    unused = set(attribute.unused).difference(known)
    if not unused or not isinstance(attribute.settings.order, tuple):
        return []
    return [
        f"{attribute.name}: {len(unused):,} of the {len(attribute.values):,} values of its order are in no row; they "
        "can make distances smaller"
    ]


def _of_use(figures: ClassFigures) -> list[str]:
    """Warnings about a release that is of little use."""
    if figures.classes == 1 and (not figures.losses or figures.released_ncp > 0):
        return ["all rows are in one class: the quasi-identifiers distinguish nobody, and the table is nearly useless"]
    if figures.losses and figures.released_ncp > 0.9:
        return [
            "most of the quasi-identifiers' information is lost; a larger t, fewer quasi-identifiers or hierarchies "
            "preserve more"
        ]
    return []
