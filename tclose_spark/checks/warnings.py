"""What holds, follows from the release alone, and is still worth a second look before the release goes out.

Sentences that name columns and counts, never values of people.
"""

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
    """All warnings of a release. quasi: what its labels name; texts: the columns that are text."""
    sentences = [f"{name}: the published value is * in all rows" for name, named in quasi.items() if named.suppressed]
    for name, named in quasi.items():
        if name in texts and (spellings := count_spellings(named.names)):
            sentences.append(f"{name}: {spellings:,} of {len(named.names):,} published values {SPELLED}")
    for attribute in attributes:
        sentences += _of_values(attribute, attribute.name in texts)
    return [*sentences, *_of_use(figures)]


def _of_values(attribute: JudgedAttribute, is_text: bool) -> list[str]:
    """Warnings of the values of one sensitive attribute."""
    name = attribute.name
    present = [value for value, n in zip(attribute.values, attribute.distance.table, strict=True) if n]
    sentences = []
    if present == [None]:
        sentences.append(f"{name}: missing in all rows; it tells nothing")
    elif len(present) == 1:
        sentences.append(f"{name}: all rows have one value; who is known to be in the table has it for certain")
    elif 2 * len(present) > (rows := int(attribute.distance.table.sum())):
        sentences.append(
            f"{name}: nearly unique, {len(present):,} values in {rows:,} rows; who knows a person's value of it finds "
            "the record, and with it the other columns"
        )
    if is_text and (spellings := count_spellings(present)):
        sentences.append(f"{name}: {spellings:,} of {len(present):,} values {SPELLED}, for t and for l")
    return [*sentences, *padded_order(attribute)]


def padded_order(attribute: JudgedAttribute, known: Collection[str | None] = ()) -> list[str]:
    """A warning where an order that was given lists values that no row has, of the table or (`known`) elsewhere."""
    unused = set(attribute.unused).difference(known)
    if not unused or not isinstance(attribute.settings.order, tuple):
        return []
    return [
        f"{attribute.name}: {len(unused):,} of the {len(attribute.values):,} values of its order are in no row; they "
        "can make distances smaller"
    ]


def _of_use(figures: ClassFigures) -> list[str]:
    """Whether the release is worth anything."""
    if figures.classes == 1 and (not figures.losses or figures.released_ncp > 0):
        return [
            "all rows are in one class: nothing of the quasi-identifiers tells anyone apart, and the table is nearly "
            "useless"
        ]
    if figures.losses and figures.released_ncp > 0.9:
        return [
            "most of the quasi-identifiers' information is lost; a larger t, fewer quasi-identifiers or hierarchies "
            "keep more"
        ]
    return []
