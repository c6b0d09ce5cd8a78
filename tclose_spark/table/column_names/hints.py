"""What a column's name suggests about it, and whether it names one of the 18 identifiers of the
HIPAA Privacy Rule (45 CFR 164.514(b)(2)(i)).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any, Literal

import yaml

HintedRole = Literal["direct", "quasi", "sensitive", "weight"]


@dataclass(frozen=True, kw_only=True)
class Concept:
    """Words of one meaning, and what they suggest about a column. `lexicon.yaml` explains the
    fields.
    """

    name: str
    role: HintedRole
    rank: int
    words: tuple[str, ...]
    either: bool = False
    unique: bool = False
    nominal: bool = False


def between_commas(text: str) -> tuple[str, ...]:
    """The entries of a text, between commas.

    >>> between_commas("zip, post code")
    ('zip', 'post code')
    """
    return tuple(entry.strip() for entry in text.split(","))


_LEXICON: dict[str, Any] = yaml.safe_load(
    files(__package__).joinpath("lexicon.yaml").read_text(encoding="utf-8"),
)
CONCEPTS = tuple(
    Concept(**{**entry, "words": between_commas(entry["words"])}) for entry in _LEXICON["concepts"]
)


def _words_for(key: str) -> frozenset[str]:
    return frozenset(between_commas(_LEXICON[key]))


IDS = _words_for("ids")
NUMBERS = _words_for("numbers")
CODES = _words_for("codes")
OF_OTHERS = _words_for("of_others")
OF_THINGS = _words_for("of_things")
OF_GROUPS = _words_for("of_groups")
PEOPLE = _words_for("people")
TECHNICAL = _words_for("technical")
WEIGHTS = _words_for("weights")
QUANTITIES = _words_for("quantities")
COUNTED = _words_for("counted")
LINKS = _words_for("links")
ARTICLES = _words_for("articles")
BREAKS = _words_for("breaks")

NUMBER_ENDINGS = ("nummer", "number", "nr")
"""How a name that is one word ends if it is that of a number: `Kundennr`."""
COUNTS = frozenset(["num", "number", "n", "no", "nr"])
"""Words with which the name of a count begins, if it goes on with `of` or ends as a plural:
`num_visits`.
"""
NAMES = frozenset(["name", "names", "nom", "nombre", "nome", "naam"])
"""Words for names of people and of things."""
AMOUNTS = frozenset(
    word for one in CONCEPTS if one.name in ("money", "finances") for word in one.words
)
"""Words for amounts of money."""
BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+|(?<=[A-Za-z])(?=[0-9]{4}$)",
)
NUMBERED = re.compile(r"^([a-z]{3,})[0-9]+$")
"""Words of one of several columns: `diag2` is a diagnosis."""
_PHRASES = [frozenset(entry.split()) for entry in ("", *TECHNICAL) if " " in entry or not entry]
_ENTRIES = [
    (frozenset(entry.split()), place, concept)
    for place, concept in enumerate(CONCEPTS)
    for entry in concept.words
    if "*" not in entry
]
_AFFIXES = [
    (entry, place, concept)
    for place, concept in enumerate(CONCEPTS)
    for entry in concept.words
    if "*" in entry
]
"""Words of which only the beginning or the end is given."""
_ALONE = [
    (entry[1:], place, concept)
    for place, concept in enumerate(CONCEPTS)
    for entry in concept.words
    if entry[0] == "="
]
"""Words that have a sense if the name has no other."""
_ENDINGS = [
    (word, place, concept)
    for place, concept in enumerate(CONCEPTS)
    for word in concept.words
    if concept.role != "direct" and len(word) > 4 and not {" ", "*"} & {*word}
]
"""Words with which a compound may end."""

KEYED = 0.02  # different values a row from which a column that calls itself a number or a key is taken for one
FEWEST_PEOPLE = 20  # values of a column whose name is a word for people, if it identifies them


@dataclass(frozen=True, kw_only=True)
class Hint:
    """What a name suggests.

    concept: the subject of the column, if the name has one.
    numbers: whether the name calls it a number or a key, which makes it an identifier if it has
        many values. Names of counts (`num_visits`) do not.
    codes: whether the name calls it a number, a key or a code, so its numbers are not measurements.
    nominal: whether its whole numbers are codes by its concept.
    quantity: whether a word is that of a quantity, such as a duration.
    of_thing: whether a word is that of a thing, so that a number is that of no person.
    of_group: whether a word is that of a group of people, such as a stratum.
    of_person: whether the last word is one for a person, such as `customer`.
    counted: whether a word is that of what a table of counts counts.
    of_others: whether it is about another person or another time.
    technical: whether all its words are about the table and not about people.
    weight: whether it calls it a weight and shows no more, so that it is that of a body or of a row
        of a survey.
    """

    concept: Concept | None
    numbers: bool
    codes: bool
    of_others: bool
    technical: bool
    weight: bool = False
    nominal: bool = False
    quantity: bool = False
    of_thing: bool = False
    of_group: bool = False
    of_person: bool = False
    counted: bool = False


def words_of_name(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case and without accents.

    >>> [words_of_name(name) for name in ("MaritalStatus", "native-country", "Prénom du père")]
    [('marital', 'status'), ('native', 'country'), ('prenom', 'du', 'pere')]
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return tuple(word.lower() for word in BOUNDARY.split(bare) if word)


def hint_of(name: str) -> Hint:
    """What a name suggests. Of several meanings, the one with the most words wins, then a direct
    identifier, then the lexicon's order.

    >>> hint_of("country_of_birth_self").concept.name, hint_of("birth_year").concept.name
    ('origin', 'age')
    >>> hint_of("drug_name").concept.name, hint_of("customerName").concept.name
    ('health', "person's name")
    >>> hint_of("addr_state").concept.name, hint_of("state_address").concept.name, hint_of("course_name").concept
    ('place', 'contact', None)
    >>> hint_of("credit_card_balance").concept.name, hint_of("employment_status").concept.name
    ('finances', 'work')
    >>> hint_of("deaths_total").counted, hint_of("age").counted
    (True, False)
    """
    listed = words_of_name(name)
    words = frozenset([*listed, *(NUMBERED.sub(r"\1", word) for word in listed)])
    if words & IDS:
        words |= {"id"}
    counts = _is_of_count(listed)
    named = words - COUNTS if _counts_several(listed) else words
    found: list[tuple[float, int, Concept]] = [
        (-len(entry), place, concept) for entry, place, concept in _ENTRIES if entry <= named
    ]
    if not found:
        found = [
            (0, place, one)
            for entry, place, one in _ALONE
            if entry in words and len(_spelled(listed)) == 1
        ]
    if not found:
        found = _with_affixes(words)
    if not found:  # Jahresgehalt, Haushaltseinkommen
        found = [
            (0, place, one)
            for end, place, one in _ENDINGS
            if any(word.endswith(end) for word in words)
        ]
    if _is_name_of_thing(listed):
        found = [one for one in found if one[2].name != "person's name"]
    if _is_part_of_address(listed):
        found = [one for one in found if one[2].name != "contact"]
    if AMOUNTS & _ends(listed):  # credit_card_balance
        found = [one for one in found if one[2].name != "account"]
    technical = bool(words) and any(
        words <= TECHNICAL | phrase for phrase in _PHRASES if phrase <= words
    )
    concept = min(found, key=lambda one: one[:2])[2] if found and not technical else None
    keys = words - COUNTS if counts else words
    return Hint(
        concept=concept,
        numbers=bool(keys & NUMBERS) or any(key.endswith(NUMBER_ENDINGS) for key in keys),
        codes=bool(keys & (NUMBERS | CODES)),
        of_others=bool(words & OF_OTHERS),
        technical=technical,
        weight=concept is None and bool(words & WEIGHTS),
        quantity=bool(words & QUANTITIES),
        of_thing=not OF_THINGS.isdisjoint(listed),
        of_group=not OF_GROUPS.isdisjoint(listed),
        of_person=bool(listed) and listed[-1] in PEOPLE,
        counted=not COUNTED.isdisjoint(listed),
        nominal=concept is not None and concept.nominal and not words & QUANTITIES,
    )


def _spelled(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if not word.isdigit()]


def _ends(words: tuple[str, ...]) -> frozenset[str]:
    """What a name can be a name of: its last word, and the last one before `of`."""
    before = words[: words.index("of")] if "of" in words else ()
    return frozenset([*words[-1:], *before[-1:]])


def _is_of_count(words: tuple[str, ...]) -> bool:
    """Whether the name is that of a count: `num_visits`, `lifetime number of visits`; not
    `patient_number`.
    """
    place = _count_in(words)
    if place is None or _counts_several(words):
        return place is not None
    return words[place + 1] == "of" and (place == 0 or words[-1].endswith("s"))


def _counts_several(words: tuple[str, ...]) -> bool:
    """Whether a name begins with a count of several things: `number of patient visits` has no
    patient number.
    """
    place = _count_in(words)
    return place is not None and QUANTITIES.issuperset(words[:place]) and words[-1].endswith("s")


def _count_in(words: tuple[str, ...]) -> int | None:
    """The place of the first word of a count that is not the last word."""
    return next((place for place, word in enumerate(words[:-1]) if word in COUNTS), None)


def _is_name_of_thing(words: tuple[str, ...]) -> bool:
    """Whether the name is that of a thing: `course_name`, `name of the course`; not
    `course_teacher_name`.
    """
    for place, word in enumerate(words):
        after = [other for other in words[place + 1 :] if other not in LINKS | ARTICLES]
        owner = words[place - 1 : place] or after[:1]
        if word in NAMES and OF_THINGS.issuperset(owner):
            return bool(owner)
    return False


def _is_part_of_address(words: tuple[str, ...]) -> bool:
    """Whether a name goes on from an address to a place that many share: `addr_state`, but not
    `state_address`.
    """
    of = {concept.name: frozenset(concept.words) for concept in CONCEPTS}
    places = [place for place, word in enumerate(words) if word in of["place"]]
    contacts = [place for place, word in enumerate(words) if word in of["contact"]]
    return bool(places and contacts) and max(contacts) < max(places)


def _with_affixes(words: frozenset[str]) -> list[tuple[float, int, Concept]]:
    """The concepts of the beginnings and ends that words have, each with a sort key: the longest
    first.
    """
    return [
        (-len(entry) / 1000, place, concept)
        for entry, place, concept in _AFFIXES
        if any(fnmatchcase(word, entry) for word in words)
    ]


def is_shared(name: str) -> bool:
    """Whether people of several households are known to share values of a column with this name.

    >>> [is_shared(name) for name in ("first_name", "hospital", "client", "hhid", "patient_id")]
    [True, True, False, False, False]
    """
    hint = hint_of(name)
    of_people = (
        hint.concept is None or hint.concept.unique or hint.concept.name == "household number"
    )
    return hint.of_others or hint.of_thing or not of_people


def least_uniqueness(name: str, values: int) -> float | None:
    """The share of different values above which a column with this name identifies a person; None
    if it never does.

    Such a column repeats if a person has several rows: people share names and addresses, but not
    patient numbers. values: how many there are. With few, `member` answers a question.

    >>> [least_uniqueness(name, 99) for name in ("patient_id", "ID", "customer", "hospital_id")]
    [0.0, 0.02, 0.02, None]
    >>> [least_uniqueness(name, 99) for name in ("first_name", "mother_ssn", "zip")]
    [None, None, None]
    >>> least_uniqueness("member", 2)
    """
    hint = hint_of(name)
    if hint.of_others:
        return None
    if hint.concept is not None:
        return 0.0 if hint.concept.unique else None
    is_person = hint.of_person and values >= FEWEST_PEOPLE
    return KEYED if is_person or (hint.numbers and not hint.of_thing) else None


OTHER = "R"


@dataclass(frozen=True, kw_only=True)
class Identifier:
    """One of the 18, and how it is looked for: see `identifiers.yaml`."""

    letter: str
    name: str
    concepts: tuple[str, ...] = ()
    words: str = ""
    patterns: tuple[str, ...] = ()
    under_rules: bool = False

    def is_in(self, column: str) -> bool:
        """Whether a column's name is that of this identifier."""
        hint = hint_of(column)
        return self.is_named(column) or (
            hint.concept is not None and hint.concept.name in self.concepts
        )

    def is_named(self, column: str) -> bool:
        """Whether one of its words is in a column's name."""
        words = set(words_of_name(column))
        return any(set(entry.split()) <= words for entry in self.words.split(",") if entry.strip())

    def must_go(self, column: str) -> bool:
        """Whether a column with this name may not be published. Places, dates and ages may, under
        other rules.
        """
        return not self.under_rules or self.is_named(column)


IDENTIFIERS = tuple(
    Identifier(**one)
    for one in yaml.safe_load(files(__package__).joinpath("identifiers.yaml").read_text("utf-8"))
)


def identifier_in(column: str) -> Identifier | None:
    """The identifier that a column's name stands for. R is for names that no other entry has.

    >>> [None if (one := identifier_in(name)) is None else one.letter for name in ("email", "zip", "pid", "disease")]
    ['F', 'B', 'R', None]
    """
    found = [one for one in IDENTIFIERS if one.is_in(column)]
    return min(
        found,
        key=lambda one: (one.letter == OTHER, not one.must_go(column), one.under_rules),
        default=None,
    )
