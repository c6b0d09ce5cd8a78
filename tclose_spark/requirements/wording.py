"""The words of all requirements of sensitive attributes: what certificate, report, console and
audits loop over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose_spark.errors import ConfigurationError
from tclose_spark.requirements.closeness import CLOSENESS, JOINT
from tclose_spark.requirements.criterion import OVER_PEOPLE, Guarantee, Reached
from tclose_spark.requirements.diversity import DIVERSITY
from tclose_spark.requirements.likeness import LIKENESS
from tclose_spark.requirements.size import size_violation
from tclose_spark.requirements.words import Entry, GuaranteeRow, Words
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.brought import FOUND

WORDS: tuple[Words, ...] = (CLOSENESS, *DIVERSITY, LIKENESS)
Bound = str | float | None
"""That a release required: an exact one as text; None if it was measured only."""


def all_words() -> list[Words]:
    """The words of requirements of one attribute, in the order of reports.

    Raises:
        ConfigurationError: if a requirement of another package would take the place of one of this
            package.
    """
    own = {"k", *(name for words in WORDS for name in (words.key, words.section))}
    if taken := own & FOUND.keys():
        raise ConfigurationError(
            f"{min(taken)}: another package brings a requirement that has this name already",
        )
    return [*WORDS, *(one.words for one in FOUND.values())]


def entries_of(
    settings: Mapping[str, SensitiveAttribute],
    reached: Mapping[str, Mapping[str, Reached]],
) -> dict[str, dict[str, Any]]:
    """The guarantees of the certificate by section and attribute. reached: by attribute and key,
    what classes achieve over rows.
    """
    found: dict[str, dict[str, Any]] = {"t": {}, "l": {}}
    for name, a in settings.items():
        for words in all_words():
            if words.always or words.required(a) is not None:
                entry = words.entry(a, reached[name][words.key])
                section = found.setdefault(words.section, {})
                section |= (
                    {name: {**section.get(name, {}), words.key: entry}}
                    if words.by_kind
                    else {name: entry}
                )
    return found


def entries_in(
    guarantees: Mapping[str, Any],
) -> Iterator[tuple[str, str, list[tuple[Words, Entry]]]]:
    """(section, attribute, its words and entries) of the guarantees of a certificate."""
    every = [CLOSENESS, JOINT, *all_words()[1:]]
    for section in dict.fromkeys(words.section for words in every):
        for attribute, entry in (guarantees.get(section) or {}).items():
            here = [words for words in every if words.section == section]
            held = [(words, entry.get(words.key) if words.by_kind else entry) for words in here]
            yield section, attribute, [(words, one) for words, one in held if one is not None]


def rows_of_entries(guarantees: Mapping[str, Any], whole: str) -> Iterator[GuaranteeRow]:
    """The rows of the report: of each attribute over rows, then over people if they are counted.
    whole: what classes are compared with.
    """
    for _, attribute, found in entries_in(guarantees):
        # What has no figure comes last.
        entries = sorted(found, key=lambda one: "achieved" not in one[1])
        yield from (words.row(attribute, entry, whole) for words, entry in entries)
        counted = [(words, entry) for words, entry in entries if "over_people" in entry]
        yield from (words.row_of_people(attribute, entry, whole) for words, entry in counted)


def recorded_of(guarantees: Mapping[str, Any]) -> dict[str, dict[str, Bound]]:
    """The bounds that the history of a line keeps, by key and attribute."""
    kept = [words for words in all_words() if words.recorded]
    found: dict[str, dict[str, Bound]] = {words.key: {} for words in kept}
    for _, attribute, entries in entries_in(guarantees):
        for words, entry in entries:
            if words.recorded and words in kept:
                found[words.key][attribute] = entry[words.recorded]
    return found


def stricter(
    settings: Mapping[str, SensitiveAttribute],
    recorded: Mapping[str, Mapping[str, Bound]],
) -> list[str]:
    """What the sensitive attributes require more of than a release did. recorded: see
    `recorded_of`; older histories lack keys.
    """
    return [
        f"{words.section} of {name}"
        for name, a in settings.items()
        for words in all_words()
        if words.is_stricter(a, recorded.get(words.key, {}).get(name))
    ]


def words_of_measure(measure: str) -> Words | None:
    """The words of a guarantee by the name of its measure, whatever it counts; None if it is of no
    attribute.
    """
    return next((words for words in all_words() if measure.startswith(words.measure)), None)


def violation(broken: Guarantee, classes: str) -> str:
    """A line on a requirement that classes break. classes: these, in words."""
    over = OVER_PEOPLE if broken.measure.endswith(OVER_PEOPLE) else ""
    words = words_of_measure(broken.measure)
    return (size_violation if words is None else words.violation)(broken, classes, over)
