"""Which words of a column's description count like those of its name.

Most words of a sentence are about something else: the number of days that a patient was in hospital
is no number of a patient. So a description is read in phrases, and the first phrase with a known
sense counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclose_spark.table.column_names.hints import (
    ARTICLES,
    BREAKS,
    IDS,
    LINKS,
    Hint,
    hint_of,
    words_of_name,
)

CLAUSE_END = re.compile(r"[^\w\s'\u2019&_#%-]+|\s[-\u2013\u2014]+\s|__+")
"""What ends a clause: signs other than those within words."""
WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*")
IDENTIFYING = (IDS | {"id"}) - {"key"}
"""Words of identifiers in sentences, where `key` is an adjective, too."""


def telling_phrase(name: str, description: str) -> str:
    """The phrase of a column's description whose words count instead of those of its name; "" if
    the name's count.

    The name counts where its sense is known, unless the description is that of an identifier.

    >>> telling_phrase("v1", "Age of the respondent in years"), telling_phrase("age", "Income of the respondent")
    ('Age of respondent', '')
    >>> telling_phrase("region", "Unique identifier of the patient")
    'Unique identifier of patient'
    >>> telling_phrase("v2", "Number of days the patient was in hospital")
    'Number of days'
    """
    own = hint_of(name)
    said = {phrase: hint_of(phrase) for phrase in phrases(description)}
    known = next(
        (phrase for phrase, hint in said.items() if hint.concept is not None or identifies(phrase)),
        "",
    )
    if known:
        return "" if own.concept is not None and not _overrules(own, known) else known
    if own.concept is not None or _says_something(own):
        return ""
    if said and all(hint.technical for hint in said.values()):
        return next(iter(said))
    return next(
        (phrase for phrase, hint in said.items() if _says_something(hint) and not hint.technical),
        "",
    )


def phrases(description: str) -> Iterator[str]:
    """The phrases of a description, without articles.

    >>> list(phrases("Whether the patient's mother has ever smoked (1 = yes)"))
    ['patient s mother', 'ever smoked', '1']
    """
    for clause in CLAUSE_END.split(description):
        phrase: list[str] = []
        for word in WORD.findall(clause):
            lower = word.lower()
            is_linked = bool(phrase) and phrase[-1].lower() in LINKS
            if lower in ARTICLES and is_linked:
                continue
            if lower in BREAKS or lower in ARTICLES:
                yield from _joined(phrase)
                phrase = []
            else:
                phrase.append(word)
        yield from _joined(phrase)


def identifies(phrase: str) -> bool:
    """Whether a phrase has a word for an identifier."""
    return bool(IDENTIFYING & set(words_of_name(phrase)))


def _joined(words: list[str]) -> Iterator[str]:
    if words:
        yield " ".join(words)


def _overrules(own: Hint, phrase: str) -> bool:
    """Whether a phrase is that of an identifier, and neither the name is, nor does the phrase begin
    like the name.
    """
    concept = hint_of(phrase).concept
    begins = hint_of(phrase.partition(" of ")[0]).concept
    is_identifier = identifies(phrase) or (concept is not None and concept.role == "direct")
    is_other = own.concept is not None and own.concept.role != "direct" and own.concept != begins
    return is_identifier and is_other


def _says_something(hint: Hint) -> bool:
    """Whether words without a concept have a sense: a number, a code, a weight, a quantity, or one
    of the table.
    """
    return hint.numbers or hint.codes or hint.weight or hint.quantity or hint.technical
