"""What is worth a second look in a raw table before it is released, in sentences that hold no raw value."""

from __future__ import annotations

from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.domains import Profile, SensitiveDomain

NEARLY_UNIQUE = 0.5  # distinct values a row from which a column is taken to point at people
MOST_SHOWN = 5  # values of a list in the run file


def profile_warnings(profile: Profile, spec: ReleaseSpec) -> tuple[str, ...]:
    """What is told of a table that may be released all the same: each sentence names a column and says how many."""
    sentences = [
        f"quasi-identifier {domain.name!r}: {_spellings(domain.spellings, domain.present)}"
        for domain in profile.quasi
        if domain.spellings
    ]
    for domain in profile.sensitive:
        details = _of_sensitive(domain, spec.attributes.sensitive_attributes[domain.name], profile.rows)
        sentences += [f"sensitive attribute {domain.name!r}{sentence}" for sentence in details]
    return tuple(sentences)


def _of_sensitive(domain: SensitiveDomain, settings: SensitiveAttribute, rows: int) -> list[str]:
    present = [value for value, n in zip(domain.values, domain.counts, strict=True) if n]
    sentences = []
    if present == [None]:
        sentences.append(f" is missing in all {rows} rows: nothing is protected")
    elif len(present) == 1:
        sentences.append(f" has one value in all {rows} rows: the release tells it of everyone")
    elif len(present) > NEARLY_UNIQUE * rows:
        sentences.append(
            f" is nearly unique ({len(present)} values in {rows} rows): who knows a person's value of it finds the "
            "record, and with it the other columns"
        )
    spellings = count_spellings(present)
    if spellings:
        sentences.append(f": {_spellings(spellings, len(present))}, and each counts for l and t as a value of its own")
    unused = [str(value) for value, n in zip(domain.values, domain.counts, strict=True) if not n]
    if unused and isinstance(settings.order, tuple):
        more = f" and {len(unused) - MOST_SHOWN} more" if len(unused) > MOST_SHOWN else ""
        sentences.append(
            f": its order lists {len(unused)} values that no row has ({', '.join(unused[:MOST_SHOWN])}{more}); they "
            "lengthen the scale, and every distance is smaller by them"
        )
    return sentences


def _spellings(spellings: int, present: int) -> str:
    return (
        f"{spellings} of its {present} values are other spellings of one of them (case, blanks, width or normal form); "
        "they stay different values unless its `text` options make them one"
    )
